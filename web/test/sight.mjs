// Colours as they are perceived, also by those who cannot tell all of them apart.

/** From light of red, green and blue to what is seen without one of the three cones (Machado, Oliveira and Fernandes,
 *  IEEE TVCG 15(6), 2009, severity 1). */
const SIGHT = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
/** From linear sRGB to CIE XYZ, over the white point D65. */
const XYZ = [
  [0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047], [0.2126729, 0.7151522, 0.072175],
  [0.0193339 / 1.08883, 0.119192 / 1.08883, 0.9503041 / 1.08883],
];

const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, part, i) => sum + part * vector[i], 0));

/** `#rrggbb` as CIE L*a*b*: a distance of 2 is just visible side by side. */
export function perceived(colour, sight) {
  const light = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const seen = times(SIGHT[sight], light).map((part) => Math.min(1, Math.max(0, part)));
  const [x, y, z] = times(XYZ, seen).map((part) => (part > 216 / 24389 ? Math.cbrt(part) : (part * 24389 / 27 + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
