// The page of a dataset: controls choose a picture, the server draws it. Without this script the form does.
"use strict";
(function () {
	const view = document.getElementById("view"), form = document.getElementById("choose"), sliders = document.getElementById("sliders");
	const frame = document.getElementById("frame"), picture = document.getElementById("picture"), cross = document.getElementById("cross");
	const value = document.getElementById("value"), wrong = document.getElementById("wrong"), lines = document.getElementById("lines");
	const field = (name) => document.getElementById(name);
	const dark = matchMedia("(prefers-color-scheme: dark)"), narrow = matchMedia("(max-width: 600px)");

	let at = new Map();   // chosen elements, by dimension
	let other = {};       // what the link asks for and no control shows
	let shown = "";       // the screen of the picture
	let sight = null;     // what the server said of the picture that is shown
	let turn = 0;         // of drawing: only the newest counts
	let spot = null;      // where the cross is, in points of the picture
	let asking = false, again = false;

	// query is what the controls ask for.
	function query(more) {
		const q = new URLSearchParams();
		q.set("var", field("var").value);
		for (const name of ["kind", "colors"]) if (field(name).value) q.set(name, field(name).value);
		if (field("log").checked) q.set("log", "1");
		if (field("min").value.trim() && field("max").value.trim()) {
			q.set("min", field("min").value.trim());
			q.set("max", field("max").value.trim());
		}
		for (const [dim, i] of at) q.append("d", dim + "," + i);
		for (const [k, v] of Object.entries(other)) q.set(k, v);
		for (const [k, v] of Object.entries(more || {})) q.set(k, v);
		return q;
	}

	// screen is how large and on which paper this screen wants pictures.
	function screen() {
		const s = { width: narrow.matches ? "380" : "720" };
		if (dark.matches) s.dark = "1";
		return s;
	}

	async function ask(url) {
		const r = await fetch(url, { headers: { Accept: "application/json" } });
		if (!r.ok) throw new Error((await r.text()).trim() || r.statusText);
		return r.json();
	}

	function tell(text) {
		wrong.textContent = text;
		wrong.hidden = !text;
	}

	// draw asks for what is chosen: first what it is, then the picture, so that both are of the same choice.
	async function draw() {
		const mine = ++turn;
		shown = JSON.stringify(screen());
		frame.classList.add("busy");
		try {
			const q = query(screen());
			const s = await ask(view.dataset.sight + "?" + q);
			if (mine !== turn) return;
			const url = view.dataset.plot + "?" + q;
			const img = new Image();
			img.src = url;
			await img.decode();
			if (mine !== turn) return;
			sight = s;
			for (const source of frame.querySelectorAll("source")) source.remove();
			picture.src = url;
			picture.hidden = false;
			picture.alt = s.kind + " of " + s.title;
			tell("");
			delete other.rec;
			delete other.lev;
			offer(s);
			field("holds").hidden = !s.range;
			field("hold").checked = Boolean(field("min").value.trim() && field("max").value.trim());
			for (const o of field("kind").options) o.disabled = o.value !== "" && !s.kinds.includes(o.value);
			history.replaceState(null, "", view.dataset.sight + "?" + query());
			if (spot) point();
			if (lines.firstChild) {
				await settled();
				if (mine === turn) through();
			}
		} catch (e) {
			if (mine !== turn) return;
			tell(e.message);
			if (!sight) picture.hidden = true;
		} finally {
			if (mine === turn) {
				frame.classList.remove("busy");
				follow();
			}
		}
	}

	// follow draws anew where the screen is another one than that of the picture.
	function follow() {
		if (shown && shown !== JSON.stringify(screen())) draw();
	}

	// offer makes a slider for each dimension along which one element is chosen. One that is there already stays, with its focus.
	function offer(s) {
		const seen = new Set();
		for (const c of s.fixed) {
			seen.add(c.dim);
			at.set(c.dim, c.index);
			let row = [...sliders.children].find((x) => x.dataset.dim === c.dim);
			if (!row) {
				row = document.createElement("label");
				row.dataset.dim = c.dim;
				row.record = c.record;
				const name = document.createElement("span"), input = document.createElement("input"), out = document.createElement("output");
				name.textContent = c.record ? "Record (" + c.dim + ")" : c.dim;
				input.type = "range";
				input.min = "0";
				row.append(name, input, out);
				sliders.append(row);
				let timer = 0;
				input.addEventListener("input", () => {
					at.set(c.dim, Number(input.value));
					label(row, Number(input.value));
					clearTimeout(timer);
					timer = setTimeout(draw, 120);
				});
			}
			row.texts = c.texts || [];
			row.len = c.length;
			const input = row.querySelector("input");
			input.max = String(c.length - 1);
			if (document.activeElement !== input || live) input.value = String(c.index);
			label(row, Number(input.value));
		}
		for (const row of [...sliders.children]) if (!seen.has(row.dataset.dim)) row.remove();
		for (const dim of [...at.keys()]) if (!seen.has(dim)) at.delete(dim);
	}

	function label(row, i) {
		const text = (row.texts[i] ? row.texts[i] + " · " : "") + i.toLocaleString("en") + " of 0 to " + (row.len - 1).toLocaleString("en");
		row.querySelector("output").textContent = text;
		row.querySelector("input").setAttribute("aria-valuetext", text);
	}

	// point asks for the value at the cross; while one question is open only the newest place is remembered.
	async function point() {
		if (!sight || !spot) return;
		if (asking) {
			again = true;
			return;
		}
		asking = true;
		try {
			const v = await ask(view.dataset.value + "?" + query({ ...screen(), px: spot.x.toFixed(1), py: spot.y.toFixed(1) }));
			show(v);
		} catch (e) {
			value.textContent = e.message;
		}
		asking = false;
		if (again) {
			again = false;
			point();
		}
	}

	function show(v) {
		value.replaceChildren();
		sight.element = v.inside ? v.element : null;
		if (!v.inside) {
			value.textContent = "\u00a0";
			return;
		}
		const b = document.createElement("b");
		b.textContent = v.text;
		const index = (v.element || []).map((x) => x.dim + " " + x.index.toLocaleString("en")).join(", ");
		value.append(b, " at " + v.where + (index ? " (" + index + ")" : ""));
	}

	// move puts the cross at a place of the picture, in points.
	function move(x, y, seen) {
		spot = { x: Math.min(Math.max(x, 0), sight.width), y: Math.min(Math.max(y, 0), sight.height) };
		cross.hidden = !seen;
		cross.style.left = (100 * spot.x) / sight.width + "%";
		cross.style.top = (100 * spot.y) / sight.height + "%";
		point();
	}

	function under(e) {
		const r = picture.getBoundingClientRect();
		return [((e.clientX - r.left) / r.width) * sight.width, ((e.clientY - r.top) / r.height) * sight.height];
	}

	// through draws lines through the element at the cross, along each dimension that is not one of places.
	function through() {
		lines.replaceChildren();
		if (!sight || !sight.element) return;
		for (const dim of sight.long) {
			if (sight.places.includes(dim) && sight.places.length < 2) continue;
			const q = new URLSearchParams({ var: field("var").value, kind: "line", x: dim, ...screen() });
			q.set("width", narrow.matches ? "380" : "480");
			for (const x of sight.element) if (x.dim !== dim) q.append("d", x.dim + "," + x.index);
			const img = document.createElement("img");
			img.src = view.dataset.plot + "?" + q;
			img.alt = field("var").value + " along " + dim + " at " + value.textContent;
			lines.append(img);
		}
	}

	frame.addEventListener("pointermove", (e) => {
		if (sight && e.pointerType !== "touch") move(...under(e), false);
	});
	frame.addEventListener("click", async (e) => {
		if (!sight) return;
		move(...under(e), true);
		await settled();
		through();
	});
	frame.addEventListener("pointerleave", () => {
		if (cross.hidden) {
			spot = null;
			value.textContent = "\u00a0";
		}
	});
	frame.addEventListener("keydown", async (e) => {
		if (!sight) return;
		const step = e.shiftKey ? 40 : 6;
		const way = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[e.key];
		if (way) {
			e.preventDefault();
			const from = spot || { x: sight.width / 2, y: sight.height / 2 };
			move(from.x + way[0], from.y + way[1], true);
		} else if (e.key === "Enter") {
			e.preventDefault();
			await settled();
			through();
		} else if (e.key === "Escape") {
			cross.hidden = true;
			spot = null;
			value.textContent = "\u00a0";
			lines.replaceChildren();
		}
	});

	// settled waits until the value at the cross is known.
	async function settled() {
		while (asking) await new Promise((done) => setTimeout(done, 30));
	}

	form.addEventListener("submit", (e) => {
		e.preventDefault();
		draw();
	});
	for (const name of ["var", "kind", "colors", "log", "min", "max"]) {
		field(name).addEventListener("change", () => {
			if (name === "var") {
				field("kind").value = field("min").value = field("max").value = "";
				lines.replaceChildren();
			}
			if (name === "var" || name === "kind") other = {};
			draw();
		});
	}
	field("hold").addEventListener("change", () => {
		const ends = field("hold").checked && sight && sight.range ? sight.range : ["", ""];
		field("min").value = ends[0];
		field("max").value = ends[1];
		draw();
	});
	document.getElementById("draw").hidden = true;
	dark.addEventListener("change", follow);
	narrow.addEventListener("change", follow);
	addEventListener("resize", follow);

	// follow keeps the page up to date while the dataset is written. The newest record stays chosen if it was.
	const live = document.getElementById("live");
	if (live) {
		const events = new EventSource(live.dataset.events);
		events.addEventListener("state", async (e) => {
			const s = JSON.parse(e.data);
			live.textContent = s.text;
			if (s.id === live.dataset.id) return;
			const page = await fetch(location.href, { headers: { Accept: "text/html" } });
			if (!page.ok) return; // the next event tries again
			live.dataset.id = s.id;
			const now = new DOMParser().parseFromString(await page.text(), "text/html");
			for (const part of [".facts", ".dims"]) document.querySelector(part).replaceWith(now.querySelector(part));
			for (const row of sliders.children) {
				if (row.record && Number(at.get(row.dataset.dim)) === row.len - 1) at.set(row.dataset.dim, s.records - 1);
			}
			if (field("var").value) draw();
		});
		events.addEventListener("end", () => events.close());
	}

	// what the link asks for
	const asked = new URLSearchParams(location.search);
	for (const k of ["rec", "lev", "x", "y", "plate"]) if (asked.get(k)) other[k] = asked.get(k);
	for (const d of asked.getAll("d")) {
		const i = d.lastIndexOf(",");
		if (i > 0) at.set(d.slice(0, i), d.slice(i + 1));
	}
	if (field("var").value && wrong.hidden) draw();
})();
