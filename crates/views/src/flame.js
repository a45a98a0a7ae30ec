// Of a flame graph's SVG file: a click on a box zooms in on it, Escape or a click on the lowest box zooms out; Ctrl-F or a click on
// "Search" asks for a regular expression, marks the functions that match, and says what share of all they have together.
"use strict";
{
  const svg = document.documentElement;
  const letter = Number(svg.dataset.letter);
  const number = (node, name) => Number(node.getAttribute(name));
  const boxes = [...svg.querySelectorAll("g")].map((node) => {
    const [rect, text] = [node.querySelector("rect"), node.querySelector("text")];
    const name = node.dataset.name ?? text?.textContent ?? "";
    return { node, rect, text, name, x: number(rect, "x"), width: number(rect, "width"), fill: rect.getAttribute("fill") };
  });
  const all = boxes.reduce((widest, box) => (box.width > widest.width ? box : widest));
  const [search, found] = ["search", "found"].map((id) => document.getElementById(id));

  /** Draws a box from `x` on, with as much of its name as fits. */
  const draw = (box, x, width) => {
    box.rect.setAttribute("x", x);
    box.rect.setAttribute("width", width);
    const letters = Math.floor((width - 4) / letter);
    const name = [...box.name];
    const shown = letters < 3 ? "" : name.length <= letters ? box.name : `${name.slice(0, letters - 1).join("")}…`;
    if (shown !== "" && !box.text) {
      box.text = document.createElementNS(svg.namespaceURI, "text");
      box.text.setAttribute("y", number(box.rect, "y") + 12);
      box.node.append(box.text);
    }
    box.text?.setAttribute("x", x + 2);
    if (box.text) box.text.textContent = shown;
  };

  const zoom = (to) => {
    const scale = all.width / to.width;
    const end = all.x + all.width;
    for (const box of boxes) {
      const from = all.x + (box.x - to.x) * scale;
      const [left, right] = [Math.max(from, all.x), Math.min(from + box.width * scale, end)];
      // Boxes on each other's border have a hundredth of a pixel in common by rounding.
      const isShown = box === to || (right - left) / scale > 0.01;
      box.node.style.display = isShown ? "" : "none";
      // A caller that is wider than the picture.
      box.node.style.opacity = box.width > to.width + 0.05 ? 0.5 : 1;
      if (isShown) draw(box, left, right - left);
    }
  };

  const mark = (term) => {
    let matches = (name) => name.includes(term);
    try {
      const pattern = new RegExp(term);
      matches = (name) => pattern.test(name);
    } catch {
      // It is looked for as it stands.
    }
    let [share, end] = [0, 0];
    for (const box of [...boxes].sort((one, other) => one.x - other.x)) {
      const isMatch = term !== "" && box !== all && matches(box.name);
      box.rect.setAttribute("fill", isMatch ? "#d5a6bd" : box.fill);
      // What is in two matches, one upon the other, counts once.
      if (isMatch) share += Math.max(0, box.x + box.width - Math.max(box.x, end));
      if (isMatch) end = Math.max(end, box.x + box.width);
    }
    found.textContent = term === "" ? "" : `${term}: ${((share / all.width) * 100).toFixed(1)} % of what is here`;
  };

  const ask = () => {
    const term = prompt("Functions, by a regular expression; nothing to end the search");
    if (term !== null) mark(term);
  };

  for (const box of boxes) box.node.addEventListener("click", () => zoom(box));
  search.addEventListener("click", ask);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") zoom(all);
    if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      ask();
    }
  });
  // What is searched for stays in sight.
  addEventListener("scroll", () => {
    for (const text of [search, found]) text.setAttribute("transform", `translate(0 ${scrollY})`);
  });
  // A tall picture opens at its widest box, not where only the deepest stack reaches.
  all.node.scrollIntoView({ block: "nearest" });
}
