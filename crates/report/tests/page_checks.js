// What a reader needs of a page, checked in the page itself; gives a list of what is wrong.
(() => {
  const wrong = [];
  const visible = (element) => element.checkVisibility({ checkOpacity: true }) && element.getClientRects().length > 0;
  // Relative luminance and contrast as WCAG 2.2 defines them.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  let texts = 0;
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || ["SCRIPT", "STYLE"].includes(element.tagName) || element.closest(".sr, .skip") || !visible(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const back = ground(element);
    const key = colour + back;
    if (seen.has(key)) continue;
    seen.add(key);
    const found = contrast(rgba(colour), back);
    if (found < 4.5) wrong.push(`contrast ${found.toFixed(2)} of "${walker.currentNode.textContent.trim().slice(0, 30)}" (${element.className.baseVal ?? element.className})`);
  }
  if (texts < 100) wrong.push(`only ${texts} texts seen`);
  for (let mark = 0; mark < 6; mark++) {
    const line = document.createElement("span");
    line.style.color = `var(--s${mark})`;
    document.body.append(line);
    const found = contrast(rgba(getComputedStyle(line).color), rgba(getComputedStyle(document.body).backgroundColor));
    if (found < 3) wrong.push(`contrast ${found.toFixed(2)} of mark ${mark}`);
    line.remove();
  }
  for (const element of document.querySelectorAll("[role=img], [role=region], [role=group], nav")) {
    if (!element.getAttribute("aria-label")) wrong.push(`no label: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const element of document.querySelectorAll("button, select")) {
    const name = element.getAttribute("aria-label") || element.textContent.trim() || (element.labels && element.labels.length);
    if (!name) wrong.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`id twice: ${id}`);
  for (const link of document.querySelectorAll("a[href]")) {
    const to = link.getAttribute("href");
    if (!to.startsWith("#") || !document.getElementById(to.slice(1))) wrong.push(`link leads nowhere: ${to}`);
  }
  for (const svg of document.querySelectorAll("svg.forest, svg.shape, svg.dumbbell, svg.spark, svg.strip, svg.bar-of-memory")) {
    if (!visible(svg)) continue;
    const box = svg.getBoundingClientRect();
    if (box.width < 40 || box.height < 10) wrong.push(`chart of ${box.width} x ${box.height}: ${svg.outerHTML.slice(0, 60)}`);
    if (!svg.querySelector("circle, path, rect, use")) wrong.push(`empty chart: ${svg.outerHTML.slice(0, 80)}`);
  }
  for (const canvas of document.querySelectorAll("#charts canvas")) {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) colours.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    if (colours.size < 3) wrong.push(`a time line of ${colours.size} colours`);
  }
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (over > 0) wrong.push(`the page is ${over} px wider than its window`);
  return wrong;
})()
