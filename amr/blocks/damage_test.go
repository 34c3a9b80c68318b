package blocks

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"blobio/amr"
	"blobio/blob"
	"blobio/cdf5"
)

// equal says whether a dataset holds what another one does.
func equal(t *testing.T, d, want *Dataset) bool {
	t.Helper()
	if d.Len() != want.Len() {
		return false
	}
	a, err := d.Range(t.Context(), 0, d.Len())
	if err != nil {
		return false
	}
	b, err := want.Range(t.Context(), 0, want.Len())
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if textOf(a[i]) != textOf(b[i]) {
			return false
		}
	}
	x, y := *d.Meta(), *want.Meta()
	return fmt.Sprintf("%+v", x) == fmt.Sprintf("%+v", y)
}

// textOf is all that a block holds.
func textOf(b *amr.Block) string {
	s := fmt.Sprintf("%v %v %v %v %v %v %v %v", b.Index, b.Leaf, b.Cycle, b.Time, b.Dt, b.Cost, b.Attrs, b.Adapt)
	for _, f := range b.Fields {
		s += fmt.Sprintf("%v %v %x", *f.Spec, f.Ghosts, f.Data)
	}
	for _, p := range b.Particles {
		s += fmt.Sprintf("%v %d %x", *p.Spec, p.N, p.Data)
	}
	return s
}

// TestDamage: a changed bit of a canonical file, in the header or behind it, is an error, or of no consequence.
func TestDamage(t *testing.T) {
	m, list := toy(5, 1)
	list = list[:len(list):len(list)]
	name := temp(t)
	writeToy(t, name, m, deal(list, 1, 0), &Options{Durability: blob.DurableNone})
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other := temp(t)
	step := 41
	if long {
		step = 1
	}
	h, n, err := cdf5.DecodeHeader(strings.NewReader(string(raw)), int64(len(raw)), nil)
	if err != nil || h == nil {
		t.Fatal(err)
	}
	refused := 0
	for at := 0; at < len(raw); at += step {
		b := append([]byte(nil), raw...)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(other, b, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), other, nil)
		if err != nil {
			refused++
			continue
		}
		if _, err := d.Range(t.Context(), 0, d.Len()); err != nil {
			refused++
			if int64(at) > n && !errors.Is(err, ErrChecksum) {
				t.Errorf("byte %d: %v", at, err)
			}
		} else {
			whole, err := Open(t.Context(), name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !equal(t, d, whole) {
				t.Errorf("bit %d of byte %d is read as something else, without an error", at%8, at)
			}
			whole.Close()
		}
		d.Close()
	}
	if refused < len(raw)/step/2 {
		t.Errorf("%d of %d changed bits were refused", refused, len(raw)/step)
	}
}

// TestDamagedBlock: one damaged block is named, and the others can be read; with NoVerify it can, and
// what is made of it says so.
func TestDamagedBlock(t *testing.T) {
	m, list := toy(21, 2)
	for _, c := range []struct {
		variable string
		at       int64
		block    int
		heads    bool // found without the data, too
	}{
		{"block_cost", 9, 1, true}, {"block_time", 8*4 + 7, 4, true}, {"field_fint8", 2, 0, false}, {"attr_word", 2*3 + 1, 3, false}, {"block_table_crc", 4 * 2, 2, true}, {"block_crc", 4 * 2, 2, false},
	} {
		name := temp(t)
		writeToy(t, name, m, deal(list, 1, 0), &Options{Durability: blob.DurableNone})
		spoil(t, name, c.variable, c.at, 0x77)
		d, err := Open(t.Context(), name, nil)
		if err != nil {
			t.Fatal(c.variable, err)
		}
		for i := range d.Len() {
			_, err := d.Block(t.Context(), i)
			_, herr := d.Heads(t.Context(), i, i+1)
			switch {
			case i != c.block && (err != nil || herr != nil):
				t.Errorf("%s: block %d cannot be read: %v %v", c.variable, i, err, herr)
			case i == c.block && (!errors.Is(err, ErrChecksum) || errors.Is(herr, ErrChecksum) != c.heads):
				t.Errorf("%s: block %d: %v, %v", c.variable, i, err, herr)
			case i == c.block:
				for _, w := range []string{name, fmt.Sprintf("block %d (%s)", i, d.name(d.infos[i].Index)), " sum to ", " says "} {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%s: %v, want %q", c.variable, err, w)
					}
				}
			}
		}
		out := temp(t)
		if err := Convert(t.Context(), d, out, nil); !errors.Is(err, ErrChecksum) {
			t.Errorf("%s: Convert: %v", c.variable, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is an output", c.variable)
		}
		d.Close()
		if d, err = Open(t.Context(), name, &OpenOptions{NoVerify: true}); err != nil {
			t.Fatal(err)
		}
		if err := Convert(t.Context(), d, out, nil); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if d, err = Open(t.Context(), out, nil); err != nil || !d.Meta().Unverified {
			t.Fatalf("%s: the rescued copy is not marked: %v", c.variable, err)
		}
		d.Close()
		hit := false
		for f := range Check(t.Context(), out, nil) {
			hit = hit || f.Severity == blob.Warning && f.Field == unverifiedAtt
		}
		if !hit {
			t.Errorf("%s: Check says nothing of the rescued copy", c.variable)
		}
	}
}

// TestNoVerifyBlobs: with NoVerify the checksums of a manifest are not compared either.
func TestNoVerifyBlobs(t *testing.T) {
	m, list := toy(21, 2)
	for _, form := range []Form{VariableCentric, ProcessCentric} {
		name := temp(t)
		writeToy(t, name, m, deal(list, 1, 0), &Options{Form: form, Durability: blob.DurableNone})
		r, err := blob.Open(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		hit := false
		for x, err := range r.Extents(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if x.Name != "field_fint8" || hit {
				continue
			}
			hit = true
			b, err := os.ReadFile(x.File)
			if err != nil {
				t.Fatal(err)
			}
			b[x.Offset+2] ^= 0x77
			if err := os.WriteFile(x.File, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		for _, no := range []bool{false, true} {
			d, err := Open(t.Context(), name, &OpenOptions{NoVerify: no})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Range(t.Context(), 0, d.Len()); errors.Is(err, ErrChecksum) == no || no && err != nil {
				t.Errorf("%v, NoVerify %v: %v", form, no, err)
			}
			d.Close()
		}
		if !hit {
			t.Error("nothing was damaged")
		}
	}
}

// TestNoSums: datasets of earlier versions, without some checksums, are read.
func TestNoSums(t *testing.T) {
	m, list := toy(21, 2)
	name := temp(t)
	writeToy(t, name, m, deal(list, 1, 0), &Options{Durability: blob.DurableNone})
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{metaCRC, crcName} {
		b := strings.Replace(string(raw), gone, strings.Repeat("x", len(gone)), 1)
		if gone == crcName { // what describes the mesh is another one then
			b = strings.Replace(b, metaCRC, strings.Repeat("x", len(metaCRC)), 1)
		}
		if err := os.WriteFile(name, []byte(b), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), name, nil)
		if err != nil {
			t.Fatal(gone, err)
		}
		same(t, d, m, list)
		if d.HasSums() != (gone != crcName) {
			t.Errorf("%s: HasSums is %v", gone, d.HasSums())
		}
		d.Close()
	}
}

// TestMarks: fields that are scrambled stay so in every form, and after a selection.
func TestMarks(t *testing.T) {
	m, list := toy(21, 2)
	m.Fields[1].Scrambled = true
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		name := temp(t)
		writeToy(t, name, m, deal(list, 2, 0), &Options{Form: form, Durability: blob.DurableNone})
		d, err := Open(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := Select(t.Context(), d, Selection{Fields: []string{m.Fields[0].Name, m.Fields[1].Name}})
		if err != nil {
			t.Fatal(err)
		}
		again := temp(t)
		if err := Convert(t.Context(), src, again, nil); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if d, err = Open(t.Context(), again, nil); err != nil {
			t.Fatal(err)
		}
		if f := d.Meta().Fields; f[0].Scrambled || !f[1].Scrambled {
			t.Errorf("%v: %+v", form, f)
		}
		d.Close()
		hit := false
		for f := range Check(t.Context(), again, nil) {
			hit = hit || f.Severity == blob.Error && f.Field == "field_"+m.Fields[1].Name
		}
		if !hit {
			t.Errorf("%v: Check does not tell of scrambled cells", form)
		}
	}
}

// TestRecords: a number of records that no variable has is damage of the header, and is not counted through.
func TestRecords(t *testing.T) {
	m, list := toy(5, 1)
	name := temp(t)
	writeToy(t, name, m, deal(list, 1, 0), &Options{Durability: blob.DurableNone})
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{0, 0, 1}, 4) // numrecs is 8 bytes behind the magic number
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), name, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
