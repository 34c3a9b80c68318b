package ffplot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"blobio/ffformat"
	"blobio/internal/chart"
)

// fileOf makes a file of layout F with these containers, one block for each list.
func fileOf(blocks ...[]ffformat.Container) *ffformat.File {
	f := &ffformat.File{Layout: ffformat.LayoutF}
	at := int64(0)
	for _, list := range blocks {
		b := ffformat.Block{Containers: list}
		for i := range list {
			list[i].Fptr, list[i].HasContent = at, list[i].ChunkSize > 0
			at += list[i].ContainerSize
			b.Size += list[i].ContainerSize
		}
		f.Blocks = append(f.Blocks, b)
	}
	f.FB.DataSize, f.FB.CkptID = at, 7
	for i := range f.Blocks {
		f.Blocks[i].Offset = at
		at += 12 + 58*int64(len(f.Blocks[i].Containers))
	}
	f.Size = at + 106
	return f
}

// shrunk has a variable that fills its container, one that fills half of its
// first and nothing of its second.
func shrunk() *ffformat.File {
	return fileOf(
		[]ffformat.Container{{ID: 1, ChunkSize: 1 << 20, ContainerSize: 1 << 20}, {ID: 2, ChunkSize: 1 << 19, ContainerSize: 1 << 20}},
		[]ffformat.Container{{ID: 2, ContainerID: 1, Dptr: 1 << 20, ContainerSize: 2 << 20}})
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := writeText(&b, shrunk(), 16, 5); err != nil {
		t.Fatal(err)
	}
	want := `map: a character is 64 KiB, # metadata, . reserved, not in use
  0x000000  1111111111111111
  0x100000  22222222........
  0x200000  ................
  0x300000  ................
  0x400000  #
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	f := shrunk()
	f.Blocks[0].Containers[0].ID = 12 // not a digit
	f.Size = 2 << 20                  // cut
	if err := writeText(&b, f, 32, 2); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "AAAAAAAABBBB....????????????????") || !strings.Contains(s, "? behind the end") {
		t.Errorf("map of a file that is cut:\n%s", s)
	}
	if err := Text(&b, f, 2); !errors.Is(err, ErrUsage) {
		t.Errorf("2 columns: %v", err)
	}
	b.Reset()
	if err := Text(&b, &ffformat.File{Layout: ffformat.LayoutF, Size: 106}, 64); err != nil || strings.Count(b.String(), "#") != 107 {
		t.Errorf("an empty file: %v\n%s", err, b.String())
	}
}

func TestSymbols(t *testing.T) {
	var list []ffformat.Container
	for i := range int32(60) {
		list = append(list, ffformat.Container{ID: 100 + i, ChunkSize: 1, ContainerSize: 1})
	}
	s := Symbols(fileOf(list))
	if s[100] != 'A' || s[125] != 'Z' || s[126] != 'a' || s[152] != symbolOther || len(s) != 60 {
		t.Errorf("%c", s)
	}
}

// The page shows each byte in its place.
func TestPage(t *testing.T) {
	f := shrunk()
	extents := f.Extents()
	p := newPage(extents, f.Size, 500)
	if p.perLine != 1<<19 || len(p.lines) != 9 {
		t.Fatalf("%d lines of %d bytes", len(p.lines), p.perLine)
	}
	for i, kinds := range []string{"content", "content", "content", "empty", "empty", "empty", "empty", "empty", "metadata metadata metadata"} {
		var got []string
		for _, r := range p.lines[i].runs {
			got = append(got, r.ext.Kind.String())
		}
		if i < 8 && (strings.Join(got, " ") != kinds || p.lines[i].runs[0].x0 != 0 || p.lines[i].runs[0].x1 != 500) {
			t.Errorf("line %d: %v %+v, want %s", i, got, p.lines[i].runs, kinds)
		}
	}
	if m := p.lines[8].meta; len(m) != 3 || m[0].x1-m[0].x0 < leastMeta {
		t.Errorf("metadata %+v", m)
	}
}

// Runs of a line touch each other and do not go back, whatever the file.
func TestRunsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var list []ffformat.Container
		for range 1 + rng.IntN(300) {
			room := rng.Int64N(1 << rng.IntN(24))
			list = append(list, ffformat.Container{ID: rng.Int32N(9), ChunkSize: rng.Int64N(room + 1), ContainerSize: room})
		}
		f := fileOf(list)
		for range rng.IntN(3) {
			list[rng.IntN(len(list))].Fptr = rng.Int64N(f.Size * 2)
		}
		extents := f.Extents()
		total := extents[len(extents)-1].End()
		p := newPage(extents, total, 300)
		if len(p.lines) > maxLines {
			t.Fatalf("%d lines", len(p.lines))
		}
		for i := range p.lines {
			l := &p.lines[i]
			at := 0.0
			for _, r := range l.runs {
				if r.x0 < at-1e-6 || r.x0 > at+1.1/perPoint || r.x1 < r.x0 || r.x1 > 300+1e-6 {
					t.Fatalf("line %d: run %+v after %v", i, r, at)
				}
				at = r.x1
			}
			if want := p.x(l, l.end); at < want-1.1/perPoint {
				t.Fatalf("line %d ends at %v, want %v", i, at, want)
			}
		}
	}
}

func TestDraw(t *testing.T) {
	p, err := Draw(shrunk(), &Options{Title: "Ckpt7-Rank0.fti", Width: 400})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	w, h := p.Size()
	if w != 400 || img.Bounds().Dx() != 2*w || img.Bounds().Dy() != 2*h {
		t.Errorf("%d x %d points, %v pixels", w, h, img.Bounds())
	}
	count := map[color.RGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			count[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	c := palette(2)
	one, two, dead := count[c[0]], count[c[1]], count[chart.Mix(c[1], chart.Paper, 0.84)]
	if ratio := float64(one) / float64(two); ratio < 1.4 || ratio > 2.6 {
		t.Errorf("variable 1 has %d pixels, variable 2 %d: want two to one", one, two)
	}
	if dead < 2*two || count[colorMeta] == 0 {
		t.Errorf("dead space %d pixels, variable 2 %d, metadata %d", dead, two, count[colorMeta])
	}
}

func TestSVG(t *testing.T) {
	f := shrunk()
	f.Hash = ffformat.Fast
	p, err := Draw(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []string{"checkpoint 7", "FTI refuses it", "2.5 MiB (62 %) dead space", "The variables", "512 KiB of 3 MiB, 2 containers", "block 1"} {
		if !strings.Contains(b.String(), w) {
			t.Errorf("no %q in the SVG", w)
		}
	}
}

// What damaged and odd files have must not end in a panic.
func TestDrawOddities(t *testing.T) {
	bad := shrunk()
	bad.Blocks[0].Containers[1].Fptr = 1 << 19
	bad.Blocks[1].Containers[0].ContainerSize = -1
	cut := shrunk()
	cut.Size = 1000
	var many []ffformat.Container
	for i := range int32(2000) {
		many = append(many, ffformat.Container{ID: i, ChunkSize: 100, ContainerSize: 100 + int64(i)})
	}
	for name, f := range map[string]*ffformat.File{
		"overlap": bad, "cut": cut, "many": fileOf(many), "no containers": fileOf(nil), "nothing": {Layout: ffformat.LayoutF},
		"parity": {Layout: ffformat.LayoutF, Size: 5000, Parity: true},
		"zero":   fileOf([]ffformat.Container{{ID: 1}}),
		"large":  {Layout: ffformat.LayoutA, Size: 1 << 61},
	} {
		p, err := Draw(f, &Options{Width: 320, Vars: 3})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p.Image()
		if err := Text(io.Discard, f, 64); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, _ := Draw(bad, nil); p.usage[ffformat.ExtentOverlap] == 0 {
		t.Error("no overlap")
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []*Options{{Width: 100}, {Width: 5000}, {Vars: -2}, {Vars: 1000}} {
		if _, err := Draw(shrunk(), o); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", *o, err)
		}
	}
	p, err := Draw(shrunk(), &Options{Vars: -1})
	if err != nil || len(p.shown) != 0 {
		t.Errorf("no variables: %v, %d", err, len(p.shown))
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 10240: "10 KiB", 100 << 20: "100 MiB", 1 << 62: "4 EiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	var many []ffformat.Container
	for i := range int32(5000) {
		many = append(many, ffformat.Container{ID: i % 40, ChunkSize: 5000, ContainerSize: 7000})
	}
	f := fileOf(many)
	for b.Loop() {
		if _, err := Draw(f, nil); err != nil {
			b.Fatal(err)
		}
	}
}
