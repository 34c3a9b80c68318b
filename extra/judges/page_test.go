package judges

import (
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/bench"
	"blobio/blob"
	"blobio/e3smcases"
	"blobio/internal/view/serve"
)

// TestPage: a browser shows the page of a dataset on a screen and on a phone, in light and dark, with mouse and keyboard alone;
// it requests nothing from other hosts, and violates no policy of the server.
func TestPage(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	for _, letter := range []string{"F", "I", "G"} {
		maps, err := maps(letter)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bench.Replay(t.Context(), bench.ReplayOptions{Case: letter, Maps: maps, Records: 3, Float: true, Subfiles: 1, Pattern: e3smcases.Smooth, Dir: dir, Base: letter,
			Options: blob.Options{Durability: blob.DurableNone}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := serve.New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		s.Close()
	})
	list, err := filepath.Glob(filepath.Join(dir, "*.manifest"))
	if err != nil || len(list) < 6 {
		t.Fatal(list, err)
	}
	page := func(history string) string {
		for _, f := range list {
			if name := strings.TrimSuffix(filepath.Base(f), ".manifest"); strings.Contains(name, history) && strings.HasSuffix(name, ".nc") {
				return web.URL + "/view/" + name
			}
		}
		t.Fatalf("no %s in %v", history, list)
		return ""
	}
	drawn := `document.querySelector("#picture") && document.querySelector("#picture").naturalWidth > 0 && !document.querySelector("#frame.busy")`
	src := `document.querySelector("#picture").getAttribute("src")`

	b.screen(1200, 1000, false)
	b.visit(page("F_h1") + "?var=TS")
	b.until("a map of TS", drawn+` && document.querySelector("#sliders input")`)
	if got := b.eval(src); !strings.Contains(got, "width=720") || strings.Contains(got, "dark") {
		t.Errorf("a light screen shows %s", got)
	}
	b.shot("light")

	// the pointer
	box := strings.Fields(b.eval(`(() => { const r = document.querySelector("#picture").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2].join(" "); })()`))
	x, _ := strconv.ParseFloat(box[0], 64)
	y, _ := strconv.ParseFloat(box[1], 64)
	b.mouse("mouseMoved", x, y)
	b.until("the value under the pointer", `document.querySelector("#value b") && / K$/.test(document.querySelector("#value b").textContent)`)
	b.mouse("mousePressed", x, y)
	b.mouse("mouseReleased", x, y)
	b.until("lines through the column", `document.querySelectorAll("#lines img").length >= 1 && [...document.querySelectorAll("#lines img")].every((i) => i.naturalWidth > 0)`)
	b.shot("lines")

	// the keyboard alone: a slider, then the picture
	before := b.eval(src)
	b.eval(`document.querySelector("#sliders input").focus()`)
	b.key("ArrowRight", 39)
	b.until("the next record", src+" !== "+strconv.Quote(before)+" && "+drawn)
	if got := b.eval(`document.activeElement === document.querySelector("#sliders input") && document.querySelector("#sliders output").textContent`); !strings.Contains(got, "1 of 0 to 2") || !strings.Contains(got, "-") {
		t.Errorf("the slider tells %q", got)
	}
	b.eval(`document.querySelector("#frame").focus()`)
	b.key("Escape", 27)
	b.until("no lines", `document.querySelectorAll("#lines img").length === 0 && document.querySelector("#cross").hidden`)
	b.key("ArrowLeft", 37)
	b.key("ArrowUp", 38)
	b.until("the value at the cross", `!document.querySelector("#cross").hidden && document.querySelector("#value b")`)
	b.key("Enter", 13)
	b.until("lines by the keyboard", `document.querySelectorAll("#lines img").length >= 1`)
	if got := b.eval(`location.search`); !strings.Contains(got, "d=time%2C1") {
		t.Errorf("the link does not keep the record: %s", got)
	}

	// the lines follow the level that the slider shows; a range that is kept stays; the picture follows the screen
	b.visit(page("F_h1") + "?var=U&lev=2")
	b.until("the level of the link", drawn+` && document.querySelector('[data-dim="lev"] input').value === "2"`)
	b.eval(`document.querySelector("#frame").focus()`)
	b.key("ArrowUp", 38)
	b.until("the value at the cross", `document.querySelector("#value b")`)
	b.key("Enter", 13)
	b.until("lines of level 2", `document.querySelectorAll("#lines img").length === 2 && document.querySelector("#lines").innerHTML.includes("lev%2C2")`)
	b.eval(`document.querySelector("#hold").click()`)
	b.until("the range", src+`.includes("min=") && `+drawn)
	kept := b.eval(`document.querySelector("#min").value`)
	b.eval(`document.querySelector('[data-dim="lev"] input').focus()`)
	b.key("ArrowRight", 39)
	b.until("lines of level 3", `document.querySelector("#lines").innerHTML.includes("lev%2C3") && !document.querySelector("#lines").innerHTML.includes("lev%2C2")`)
	if got := b.eval(src); !strings.Contains(got, "min="+url.QueryEscape(kept)) || !strings.Contains(got, "lev%2C3") {
		t.Errorf("a range from %s is kept, and level 3: %s", kept, got)
	}
	b.screen(390, 844, false)
	b.until("a picture for a phone", src+`.includes("width=380")`)
	b.screen(1200, 1000, true)
	b.until("a large and dark picture", src+`.includes("width=720") && `+src+`.includes("dark=1")`)
	b.screen(1200, 1000, false)

	// a section, and an impossible choice
	b.visit(page("I_h0") + "?var=H2OSOI&kind=section")
	b.until("a section", drawn)
	b.shot("section")
	b.eval(`(() => { const m = document.querySelector("#min"); m.value = "5"; document.querySelector("#max").value = "1"; m.dispatchEvent(new Event("change")); })()`)
	b.until("a wrong range", `!document.querySelector("#wrong").hidden`)

	// dark, and a phone
	b.screen(1200, 1000, true)
	b.visit(page("I_h0") + "?var=TSA")
	b.until("a dark map", drawn+` && `+src+`.includes("dark=1")`) // the page begins with another one
	if got := b.eval(`getComputedStyle(document.body).backgroundColor`); got != "rgb(24, 26, 31)" {
		t.Errorf("a dark page is %s", got)
	}
	b.shot("dark")
	for name, history := range map[string]string{"phone": "G", "phone_dark": "F_h0"} {
		b.screen(390, 844, name == "phone_dark")
		b.visit(page(history))
		b.until(name, drawn+` && `+src+`.includes("width=380")`)
		if got := b.eval(`document.documentElement.scrollWidth`); got != "390" {
			t.Errorf("%s: the page is %s wide: %s", name, got, b.eval(`[...document.querySelectorAll("main *")].filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().right > 391).map((e) => e.tagName + "#" + e.id).slice(0, 10).join(" ")`))
		}
		b.shot(name)
	}
	b.visit(web.URL + "/")
	b.until("the list", `document.querySelectorAll('a[href^="/view/"]').length >= 6`)
	b.shot("list")
	b.eval(`(() => { const f = document.querySelector("#find"); f.value = "g_"; f.dispatchEvent(new Event("input")); })()`)
	b.until("what is looked for", `[...document.querySelectorAll("tbody tr")].every((r) => r.hidden !== /G_/.test(r.textContent))`)

	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.asked {
		if !strings.HasPrefix(u, web.URL+"/") && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "data:") {
			t.Errorf("the page asks for %s", u)
		}
	}
	for _, w := range b.wrong {
		if !strings.Contains(w, "favicon.ico") && !strings.Contains(w, "400 (Bad Request)") { // of the wrong range
			t.Error(w)
		}
	}
}
