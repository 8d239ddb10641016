"use strict";
// What moves on the page: the colours and the time lines. It reads the page and draws; it sends nothing and loads nothing.
(() => {
  const root = document.documentElement;
  const get = (id) => document.getElementById(id);
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Colours: as the system, light, dark.
  const themes = ["auto", "light", "dark"];
  const button = get("theme");
  let redraw = () => {};
  const setTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = "Colours: " + theme;
    button.setAttribute("aria-label", "Colours: " + (theme === "auto" ? "as the system" : theme));
    redraw();
  };
  const theme = () => root.dataset.theme || "auto";
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
    setTheme(next);
    try { localStorage.setItem("assay-theme", next); } catch { /* a page from a file may have no store */ }
  });
  try { const kept = localStorage.getItem("assay-theme"); if (themes.includes(kept)) setTheme(kept); } catch { /* as above */ }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());

  // Paper is white, and shows what is folded.
  let folded = [];
  let screenTheme = "auto";
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.paper:not([open]), details.phase:not([open])")];
    for (const one of folded) one.open = true;
    screenTheme = theme();
    root.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
    if (screenTheme === "auto") delete root.dataset.theme; else root.dataset.theme = screenTheme;
    redraw();
  });

  // The time lines: begun anew where a live page has put new ones in the place of the old.
  const nothing = () => {};
  const timeLines = () => {
    for (const one of document.querySelectorAll(".script")) one.hidden = true;
    const holder = get("series");
    if (!holder) { root.dataset.charts = "0/0"; return nothing; }
    const data = JSON.parse(holder.textContent);
    const controls = get("controls");
    const phaseChoice = get("phase");
    const blockChoice = get("block");
    const place = get("charts");
    controls.hidden = false;

    const KINDS = [
      { key: "rate", title: "Rate", unit: null },
      { key: "reads", title: "Device reads", unit: "MB/s" },
      { key: "writes", title: "Device writes", unit: "MB/s" },
      { key: "cpu", title: "CPU busy", unit: "cores" },
      { key: "memory", title: "Memory", unit: "MiB" },
    ];
    const pressed = (index) => controls.querySelector('[data-stack="' + index + '"]');
    const shown = data.stacks.map((_, index) => !pressed(index) || pressed(index).getAttribute("aria-pressed") !== "false");
    let charts = [];
    let view = null;

    // As in the tables: three digits that matter.
    const number = (value) => {
      if (value === null || value === undefined || !isFinite(value)) return "-";
      const size = Math.abs(value);
      if (size === 0) return "0";
      if (size < 0.0005) return value.toExponential(1);
      if (size < 9.995) return value.toFixed(2);
      if (size < 99.95) return value.toFixed(1);
      return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
    };

    // Puts the runs of one block on one axis: one phase, or all of them one after the other.
    const assemble = () => {
      const block = Number(blockChoice.value);
      const all = phaseChoice.value === "all";
      const wanted = all ? data.phases.map((_, index) => index) : [Number(phaseChoice.value)];
      const x = [];
      const raw = KINDS.map(() => data.stacks.map(() => []));
      const marks = [];
      const steady = data.stacks.map(() => []);
      let begin = 0;
      for (const phase of wanted) {
        const runs = data.runs.filter((run) => run.p === phase && run.b === block);
        if (!runs.length) continue;
        const step = runs[0].dt;
        const parts = Math.max(...runs.map((run) => run.rate.length));
        const first = x.length;
        for (let part = 0; part < parts; part++) x.push(begin + (part + 0.5) * step);
        for (const lines of raw) for (const line of lines) while (line.length < x.length) line.push(null);
        for (const run of runs) {
          KINDS.forEach((kind, index) => {
            const values = run[kind.key];
            for (let part = 0; part < values.length; part++) raw[index][run.s][first + part] = values[part];
          });
          if (run.steady) steady[run.s].push([begin + run.steady[0], begin + run.steady[1]]);
        }
        // A gap between phases, so that no line joins them.
        if (all) { x.push(begin + parts * step); for (const lines of raw) for (const line of lines) line.push(null); }
        marks.push({ from: begin, to: begin + parts * step, phase, first, last: x.length });
        begin += parts * step;
      }
      const drawn = raw.map((lines) => lines);
      let rateUnit = wanted.length === 1 ? data.phases[wanted[0]].unit : null;
      if (all) {
        const units = new Set(marks.map((mark) => data.phases[mark.phase].unit));
        if (marks.length === 1) rateUnit = data.phases[marks[0].phase].unit;
        else {
          // Phases count different work, so each is drawn against its own highest.
          rateUnit = "% of the phase's highest";
          drawn[0] = raw[0].map((line) => line.slice());
          for (const mark of marks) {
            let most = 0;
            for (const line of raw[0]) for (let i = mark.first; i < mark.last; i++) most = Math.max(most, line[i] || 0);
            for (const line of drawn[0]) for (let i = mark.first; i < mark.last; i++) if (line[i] !== null && most > 0) line[i] = 100 * line[i] / most;
          }
        }
      }
      return { x, raw, drawn, marks, steady, rateUnit, all: all && marks.length > 1 };
    };

    const unitAt = (chart, index) => {
      if (chart.kind.key !== "rate" || !view.all) return chart.unit;
      const mark = view.marks.find((one) => index >= one.first && index < one.last);
      return mark ? data.phases[mark.phase].unit : "";
    };

    const paints = () => {
      const probe = make("span");
      place.append(probe);
      const of = (name) => { probe.style.color = "var(" + name + ")"; return getComputedStyle(probe).color; };
      const found = { soft: of("--soft"), rule: of("--rule"), margin: of("--margin"), marks: data.stacks.map((stack) => of("--s" + (Number(stack.mark.slice(1)) % 6))) };
      probe.remove();
      return found;
    };

    // Where all stacks shown are steady.
    const common = () => {
      const found = [];
      for (const mark of view.marks) {
        const windows = data.stacks.map((_, index) => index).filter((index) => shown[index] && data.runs.some((run) => run.s === index && run.p === mark.phase && String(run.b) === blockChoice.value))
          .map((index) => view.steady[index].find((one) => one[0] >= mark.from && one[1] <= mark.to + 1e-6));
        if (!windows.length || windows.some((one) => !one)) continue;
        const from = Math.max(...windows.map((one) => one[0]));
        const to = Math.min(...windows.map((one) => one[1]));
        if (to > from) found.push([from, to]);
      }
      return found;
    };

    const ground = (colours) => (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.fillStyle = colours.margin;
      for (const [from, to] of common()) {
        const left = u.valToPos(from, "x", true);
        ctx.fillRect(left, bbox.top, u.valToPos(to, "x", true) - left, bbox.height);
      }
      ctx.restore();
    };

    const marks = (colours, kind) => (u) => {
      const { ctx, bbox } = u;
      const dpr = devicePixelRatio || 1;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
      ctx.clip();
      if (view.all) {
        ctx.strokeStyle = colours.soft;
        ctx.fillStyle = colours.soft;
        ctx.lineWidth = dpr;
        ctx.font = 11 * dpr + "px system-ui, sans-serif";
        ctx.textBaseline = "top";
        ctx.textAlign = "left";
        for (const mark of view.marks) {
          const left = Math.round(u.valToPos(mark.from, "x", true));
          const right = u.valToPos(mark.to, "x", true);
          if (mark.from > 0) {
            ctx.setLineDash([3 * dpr, 3 * dpr]);
            ctx.beginPath(); ctx.moveTo(left, bbox.top); ctx.lineTo(left, bbox.top + bbox.height); ctx.stroke();
          }
          if (kind.key === "rate") {
            const room = right - left - 8 * dpr;
            let text = data.phases[mark.phase].name;
            while (text && ctx.measureText(text).width > room) text = text.slice(0, -1);
            if (text.length > 2 || text === data.phases[mark.phase].name) ctx.fillText(text, left + 4 * dpr, 1 * dpr);
          }
        }
        ctx.setLineDash([]);
      }
      if (kind.key === "rate") {
        let row = 0;
        data.stacks.forEach((_, index) => {
          if (!shown[index] || !view.steady[index].length) return;
          ctx.fillStyle = colours.marks[index];
          for (const [from, to] of view.steady[index]) {
            const left = u.valToPos(from, "x", true);
            ctx.fillRect(left, bbox.top + bbox.height - (3 + row * 4) * dpr, u.valToPos(to, "x", true) - left, 2.5 * dpr);
          }
          row += 1;
        });
      }
      ctx.restore();
    };

    const read = (chart, index) => {
      const out = chart.readout;
      out.replaceChildren();
      if (index === null || index === undefined) return;
      out.append(number(view.x[index]) + " s");
      data.stacks.forEach((stack, s) => {
        const value = chart.raw[s][index];
        if (!shown[s] || value === null || value === undefined) return;
        const name = make("b", stack.mark, stack.name);
        out.append(name, " " + number(value));
      });
      out.append(" " + (unitAt(chart, index) || ""));
    };

    const build = (kind, index, width, colours) => {
      const drawn = view.drawn[index];
      const box = make("div", "line");
      box.dataset.chart = kind.key;
      const head = make("div", "head");
      const unit = kind.unit || view.rateUnit || "";
      const title = make("strong", "", kind.title);
      title.append(make("span", "", unit));
      const readout = make("span", "readout");
      readout.setAttribute("aria-live", "polite");
      head.append(title, readout);
      box.append(head);
      place.append(box);
      const chart = { kind, unit, readout, raw: view.raw[index], plot: null, box };
      const has = drawn.some((line) => line.some((value) => value !== null && value !== undefined));
      if (!has) { box.append(make("p", "none-shown", "not recorded")); box.dataset.drawn = "none"; return chart; }
      const holder = make("div");
      holder.tabIndex = 0;
      holder.setAttribute("role", "img");
      holder.setAttribute("aria-label", kind.title + " over time, in " + unit + ". Left and right move the cursor, plus and minus zoom, 0 shows the whole time; the values stand in the table below.");
      box.append(holder);
      const axis = { stroke: colours.soft, grid: { stroke: colours.rule, width: 1 }, ticks: { stroke: colours.rule, width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
      const options = {
        width,
        height: kind.key === "rate" ? 190 : 130,
        padding: [kind.key === "rate" && view.all ? 16 : 6, 8, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: "assay", scales: ["x", null] }, drag: { x: true, y: false }, y: false, points: { size: 6 } },
        scales: { x: { time: false, range: (u, low, high) => [low, high] }, y: { range: (u, low, high) => [0, (high > 0 ? high : 1) * 1.06] } },
        axes: [
          { ...axis, size: 26, gap: 4, values: (u, ticks) => ticks.map((tick) => number(tick).replace(/\.0+$/, "").replace(/(\.\d)0$/, "$1") + " s") },
          { ...axis, size: 58, gap: 6, space: 30, values: (u, ticks) => ticks.map((tick) => number(tick).replace(/\.0+$/, "").replace(/(\.\d)0$/, "$1")) },
        ],
        series: [{}, ...data.stacks.map((stack, s) => ({
          label: stack.name, show: shown[s], stroke: colours.marks[s], width: 1.5, points: { show: false },
          dash: Number(stack.mark.slice(1)) > 5 ? [6, 3] : undefined,
        }))],
        hooks: {
          drawClear: [ground(colours)],
          draw: [marks(colours, kind), () => { box.dataset.drawn = "yes"; }],
          setCursor: [(u) => read(chart, u.cursor.idx)],
        },
      };
      const lines = drawn.map((line) => (line.length ? line : view.x.map(() => null)));
      chart.plot = new uPlot(options, [view.x, ...lines], holder);
      holder.addEventListener("keydown", (event) => keys(event, chart));
      return chart;
    };

    const setRange = (min, max) => { for (const chart of charts) if (chart.plot) chart.plot.setScale("x", { min, max }); };
    const whole = () => setRange(0, view.marks.length ? view.marks[view.marks.length - 1].to : 1);

    const keys = (event, chart) => {
      const plot = chart.plot;
      const { min, max } = plot.scales.x;
      const at = plot.cursor.idx ?? Math.floor(view.x.length / 2);
      const moves = { ArrowLeft: -1, ArrowRight: 1 };
      if (event.key in moves) {
        const next = Math.min(view.x.length - 1, Math.max(0, at + moves[event.key]));
        plot.setCursor({ left: plot.valToPos(view.x[next], "x"), top: 10 });
      } else if (event.key === "+" || event.key === "-") {
        const middle = view.x[at];
        const half = (max - min) * (event.key === "+" ? 0.25 : 1);
        const end = view.marks[view.marks.length - 1].to;
        setRange(Math.max(0, middle - half), Math.min(end, middle + half));
      } else if (event.key === "0") whole();
      else return;
      event.preventDefault();
    };

    const draw = () => {
      for (const chart of charts) if (chart.plot) chart.plot.destroy();
      place.replaceChildren();
      view = assemble();
      const colours = paints();
      const width = Math.max(240, place.clientWidth);
      charts = KINDS.map((kind, index) => build(kind, index, width, colours));
      whole();
      tabulate();
      setTimeout(() => {
        const fine = charts.filter((chart) => chart.box.dataset.drawn).length;
        root.dataset.charts = fine + "/" + charts.length;
        performance.mark("drawn");
      }, 0);
    };
    redraw = () => { if (view) draw(); };

    // The table behind the charts, made when it is asked for.
    const values = get("values");
    const tabulate = () => {
      const inside = values.querySelector("div");
      inside.replaceChildren();
      if (!values.open) return;
      const table = make("table", "figures");
      const head = make("tr");
      head.append(make("th", "", "time, s"), make("th", "", "phase"), make("th", "", "stack"));
      for (const chart of charts) head.append(make("th", "", chart.kind.title + ", " + (chart.kind.unit || "op/s or MB/s")));
      const top = make("thead");
      top.append(head);
      const body = make("tbody");
      for (const mark of view.marks) {
        for (let i = mark.first; i < mark.last; i++) {
          data.stacks.forEach((stack, s) => {
            if (!shown[s] || charts.every((chart) => chart.raw[s][i] === null || chart.raw[s][i] === undefined)) return;
            const row = make("tr");
            row.append(make("td", "", number(view.x[i] - mark.from)), make("td", "", data.phases[mark.phase].name), make("td", "", stack.name));
            for (const chart of charts) {
              const unit = chart.kind.unit || data.phases[mark.phase].unit;
              const value = chart.raw[s][i];
              row.append(make("td", "", value === null || value === undefined ? "-" : number(value) + " " + unit));
            }
            body.append(row);
          });
        }
      }
      table.append(top, body);
      inside.append(table);
    };

    values.hidden = false;
    values.addEventListener("toggle", tabulate);
    for (const choice of [phaseChoice, blockChoice]) choice.addEventListener("change", draw);
    get("whole").addEventListener("click", whole);
    controls.addEventListener("submit", (event) => event.preventDefault());
    for (const toggle of controls.querySelectorAll("button[data-stack]")) {
      toggle.addEventListener("click", () => {
        const index = Number(toggle.dataset.stack);
        shown[index] = !shown[index];
        toggle.setAttribute("aria-pressed", String(shown[index]));
        for (const chart of charts) if (chart.plot) chart.plot.setSeries(index + 1, { show: shown[index] });
        tabulate();
      });
    }
    let width = place.clientWidth;
    let waiting = 0;
    draw();
    const watcher = new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - width) < 2) return;
      width = place.clientWidth;
      clearTimeout(waiting);
      waiting = setTimeout(draw, 80);
    });
    watcher.observe(place);
    return () => {
      watcher.disconnect();
      clearTimeout(waiting);
      for (const chart of charts) if (chart.plot) chart.plot.destroy();
    };
  };
  let end = timeLines();
  addEventListener("assay-changed", () => { end(); redraw = nothing; end = timeLines(); });
})();
