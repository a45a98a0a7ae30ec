// Times and amounts as text.

function figures(value: number): string {
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Nanoseconds as a length of time: `12.3 ms`. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size === 0) return "0 s";
  if (size < 999.5) return `${figures(ns)} ns`;
  if (size < 999.5e3) return `${figures(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${figures(ns / 1e6)} ms`;
  if (size < 60e9) return `${figures(ns / 1e9)} s`;
  const seconds = Math.round(ns / 1e9);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** An instant in seconds, as exact as a view of `span` nanoseconds calls for. */
export function instant(ns: number, span: number): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(11 - Math.log10(Math.max(span, 1)))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

/** An instant among others that are `step` apart, exact enough to distinguish them. Both in seconds. */
export function instantOnAxis(seconds: number, step: number): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  return `${seconds.toFixed(decimals)} s`;
}

/** A length of time in nanoseconds among others that are `step` apart, in the unit that suits `most`. */
export function durationOnAxis(ns: number, step: number, most: number): string {
  const [size, unit] =
    most < 1e3 ? [1, "ns"] : most < 1e6 ? [1e3, "µs"] : most < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}

/** Bits per second as a rate: `193 Mbit/s`. */
export function rate(bits: number): string {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
  let place = 0;
  while (place + 1 < units.length && bits >= 999.5) {
    bits /= 1000;
    place++;
  }
  return `${place === 0 ? Math.round(bits) : figures(bits)} ${units[place]}`;
}

/** A rate among others that are `step` apart, in the unit that suits `most`. */
export function rateOnAxis(bits: number, step: number, most: number): string {
  const [size, unit] =
    most < 1e3 ? [1, "bit/s"] : most < 1e6 ? [1e3, "kbit/s"] : most < 1e9 ? [1e6, "Mbit/s"] : [1e9, "Gbit/s"];
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(bits / size).toFixed(decimals)} ${unit}`;
}

/** A part of 1, in percent; neither none nor all where it is not. */
export function percent(part: number): string {
  if (part > 0 && part < 0.0095) return "< 1 %";
  return part > 0.9905 && part < 0.9995 ? "> 99 %" : `${(part * 100).toFixed(0)} %`;
}

/** A number of things, with thousands apart: `3,904`. */
export function number(value: number): string {
  return value.toLocaleString("en");
}

/** The least 1, 2 or 5 times a power of ten that is not below `value`. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5, 10].find((factor) => power * factor >= value * (1 - 1e-9)) ?? 10);
}

/** An instant as `slowpath show --from` takes it, not after it. */
export function fromArgument(ns: number): string {
  return (Math.floor(ns / 1e6) / 1e3).toString();
}

export function bytes(amount: number): string {
  const sign = amount < 0 ? "−" : "";
  let value = Math.abs(amount);
  if (value < 1024) return `${sign}${Math.round(value)} B`;
  let unit = "B";
  for (const next of ["KiB", "MiB", "GiB", "TiB"]) {
    if (value < 1023.5) break;
    value /= 1024;
    unit = next;
  }
  return `${sign}${figures(value)} ${unit}`;
}

/** An amount among others that are `step` apart, exact enough to distinguish them. */
export function bytesOnAxis(amount: number, step: number): string {
  let [value, apart, unit] = [amount, step, "B"];
  for (const next of ["KiB", "MiB", "GiB", "TiB"]) {
    // Steps far below the next unit would give it decimals that nobody can distinguish.
    const fine = apart < 256 && Math.abs(value) < 100 * 1024;
    if (Math.abs(value) < 1024 || fine) break;
    [value, apart, unit] = [value / 1024, apart / 1024, next];
  }
  // Powers of two have as many decimals as halvings: all of them where these are few.
  const [rough, exact] = [Math.ceil(-Math.log10(apart) - 1e-9), Math.ceil(-Math.log2(apart))];
  const decimals = Math.min(6, Math.max(0, Math.min(exact, rough + 1)));
  const text = value.toFixed(decimals);
  return `${text.includes(".") ? text.replace(/\.?0+$/, "") : text} ${unit}`;
}

/** Round values between `low` and `high`, about `wanted` of them; in powers of two where `binary`. */
export function ticks(low: number, high: number, wanted: number, binary: boolean): number[] {
  const span = high - low;
  if (!(span > 0)) return [];
  const rough = span / Math.max(wanted, 1);
  let step: number;
  if (binary) {
    step = 2 ** Math.ceil(Math.log2(Math.max(rough, 1)));
  } else {
    step = roundUp(rough);
  }
  const all: number[] = [];
  // Multiplied, not added up: many small steps would drift.
  const last = Math.floor(high / step + 1e-9);
  for (let place = Math.ceil(low / step - 1e-9); place <= last; place++) all.push(place * step);
  return all;
}
