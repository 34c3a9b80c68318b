package ffformat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
)

// ownFile makes a file with a Writer. Two variables have one container, two variables have grown, and one has shrunk.
func ownFile(t testing.TB, o Options) []byte {
	t.Helper()
	o.BlockSize, o.Workers = 512, 1
	w, err := NewWriter(&o)
	must(t, err)
	f, bytesOf := created(t)
	for ckpt, sizes := range [][]int{{30, 40, 700}, {30, 90, 700, 50}, {30, 95, 300, 50}} {
		uo := UpdateOptions{CkptID: int32(ckpt + 1), Timestamp: 1700000000123456789, Differential: ckpt > 0}
		var vars []VarBuf
		for i, n := range sizes {
			b := make([]byte, n)
			fill(b, int32(i+10), 0)
			vars = append(vars, VarBuf{int32(i + 10), b})
			uo.Vars = append(uo.Vars, VarSize{int32(i + 10), int64(n)})
		}
		update(t, w, f, uo, vars)
	}
	return bytesOf()
}

// image returns all variables that a reader gets from a file, by id.
func image(t testing.TB, b []byte) map[int32]string {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "", nil)
	if err != nil {
		return nil
	}
	m := map[int32]string{}
	for _, v := range r.File().Vars() {
		p := make([]byte, v.Size)
		if r.ReadVar(t.Context(), v.ID, p) == nil {
			m[v.ID] = string(p)
		}
	}
	return m
}

// TestOwnEveryBit flips every bit of a file that a Writer made. Check finds each flip that changes data or a field. No reader
// returns wrong bytes of a variable, or a variable under a wrong id.
func TestOwnEveryBit(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := ownFile(t, Options{Layout: k.layout, Hash: k.hash})
			f, err := decodeBytes(b, "", nil)
			must(t, err)
			for x := range Check(t.Context(), bytes.NewReader(b), int64(len(b)), "", nil) {
				if k.hash != Fast {
					t.Errorf("sound: %v", x)
				}
			}
			want := image(t, b)
			if len(want) != 4 {
				t.Fatalf("%d variables", len(want))
			}
			dead, n := 0, 0
			for _, e := range f.Extents() {
				for at := e.Off; at < e.End(); at++ {
					for bit := range 8 {
						// Testing all bits of all layouts takes a minute and finds no more.
						if n++; e.Kind != extentMeta && n%37 != 0 || n%crashtest.Times(31, 2) != 0 {
							continue
						}
						b[at] ^= 1 << bit
						wrong := slices.ContainsFunc(findings(t, b, "", nil), func(f Finding) bool { return f.Severity != fault.Note })
						pad := k.hash == Fast && at == f.Size-1 // the pad of the file block
						if !wrong && e.Kind != extentEmpty && !pad {
							t.Errorf("byte %#x (%v) bit %d: not found", at, e.Kind, bit)
						}
						if !wrong {
							dead++
						}
						for id, p := range image(t, b) {
							if p != want[id] {
								t.Errorf("byte %#x (%v) bit %d: variable %d is another", at, e.Kind, bit, id)
							}
						}
						b[at] ^= 1 << bit
					}
				}
			}
			if dead == 0 && k.layout != LayoutA { // the checksum of layout A covers all bytes
				t.Error("no dead space was hit")
			}
		})
	}
}

// TestOwnRepair: if only the CRC is wrong, Repair drops the variables whose ids only the CRC covers, or keeps them with
// Options.Bad = "keep". The new file is sound.
func TestOwnRepair(t *testing.T) {
	b := ownFile(t, Options{})
	want := image(t, b)
	f, err := decodeBytes(b, "", nil)
	must(t, err)

	b[f.RecordOffset(0, 0)+1] ^= 1 // changes the id of variable 10 to 266
	var ids []int32
	for _, x := range findings(t, b, "", nil) {
		if id, ok := x.Var.Get(); ok {
			ids = append(ids, int32(id))
			if !errors.Is(x.Err, ErrCorrupt) || !strings.Contains(x.Msg, "doubtful") {
				t.Error(x)
			}
		}
	}
	if fmt.Sprint(ids) != "[266 12 13]" {
		t.Errorf("doubtful are %v", ids)
	}
	for _, bad := range []string{"", "keep"} {
		rep, got, err := repaired(t, b, "old", &Options{Bad: bad})
		must(t, err)
		for x := range Check(t.Context(), bytes.NewReader(got), int64(len(got)), "", nil) {
			t.Errorf("%v", x)
		}
		m := image(t, got)
		if bad == "" && (len(rep.Bad) != 3 || len(m) != 1 || m[11] != want[11]) || bad == "keep" && (len(m) != 4 || m[266] != want[10] || m[13] != want[13]) {
			t.Errorf("%v: bad %v, %d variables", bad, rep.Bad, len(m))
		}
	}
}

// TestFastDoubt: if a Fast file is opened in spite of a wrong hash, the same ids are doubtful as in an MD5 file with a wrong CRC.
// If another flaw explains the wrong hash, no id is doubtful.
func TestFastDoubt(t *testing.T) {
	for what, c := range map[string]struct {
		flip func(f *File) int64
		want string
	}{
		"id":        {func(f *File) int64 { return f.RecordOffset(0, 0) + 1 }, "[266 12 13]"},
		"myHash":    {func(f *File) int64 { return f.FileBlockOffset() + myHashOff }, "[10 12 13]"},
		"dptr":      {func(f *File) int64 { return f.RecordOffset(2, 0) + int64(f.Layout.table().vmd.dptr.off) }, "[]"},
		"pad":       {func(f *File) int64 { return f.FileBlockOffset() + int64(f.Layout.table().fb.pad.off) }, "[]"},
		"timestamp": {func(f *File) int64 { return f.FileBlockOffset() + int64(f.Layout.table().fb.timestamp.off) }, "[10 12 13]"},
	} {
		b := ownFile(t, Options{Layout: LayoutF, Hash: Fast})
		f, err := decodeBytes(b, "", nil)
		must(t, err)
		b[c.flip(f)] ^= 1
		ids := []int32{}
		for _, x := range findings(t, b, "", nil) {
			if strings.Contains(x.Msg, "doubtful") {
				id, _ := x.Var.Get()
				ids = append(ids, int32(id))
			}
		}
		if fmt.Sprint(ids) != c.want {
			t.Errorf("%s: doubtful are %v, want %s", what, ids, c.want)
		}
		if f, err = decodeBytes(b, "", &Options{Lenient: true}); err != nil {
			t.Fatal(err)
		}
		r := newReader(bytes.NewReader(b), f)
		for _, id := range ids {
			if err := r.CopyVar(t.Context(), id, io.Discard); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "doubtful") {
				t.Errorf("%s: variable %d is read: %v", what, id, err)
			}
		}
		if _, err := NewReader(bytes.NewReader(b), int64(len(b)), "", nil); (err == nil) != (what == "pad") {
			t.Errorf("%s: opened as if it were whole: %v", what, err)
		}
	}
}

// TestUncoveredIDs: for a file of FTI, Check adds a note about the ids that no sum covers. A converted file gets the same note.
func TestUncoveredIDs(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, k.hash, 512, seven)
		note := ""
		for x := range Check(t.Context(), bytes.NewReader(b), int64(len(b)), "", nil) {
			if x.Field == "id" && x.Severity == fault.Note {
				note += x.Msg
			}
		}
		if covered := k.layout == LayoutA || k.hash == Fast; covered != (note == "") || !covered && !strings.Contains(note, "one container, 1, 4, 5,") {
			t.Errorf("%s: %q", k.name, note)
		}
		if f.vouched() {
			t.Errorf("%s is vouched for", k.name)
		}
	}
	b := ownFile(t, Options{})
	for l := LayoutA; l <= LayoutF; l++ {
		dst, _ := created(t)
		f, err := Convert(t.Context(), reader(t, b, ""), dst, &Options{Layout: l})
		must(t, err)
		if !f.vouched() {
			t.Errorf("to %v: not vouched for", l)
		}
	}
}

func TestOwnTime(t *testing.T) {
	for _, ns := range []int64{0, 1, ownMark, ownMark + 1, 1700000000123456789, -5} {
		if own := OwnTime(ns); own < ns || own-ns > 65535 || uint16(own) != ownMark || OwnTime(own) != own {
			t.Errorf("%d: %d", ns, own)
		}
	}
	crc := byte(0xff) // check value from the definition of this CRC-8
	for _, c := range []byte("123456789") {
		crc = crc8[crc^c]
	}
	if ^crc != 0xdf {
		t.Errorf("%#x", ^crc)
	}
}

// TestOwnOtherDamage: if another flaw explains the wrong CRC, no id is doubtful.
func TestOwnOtherDamage(t *testing.T) {
	for name, change := range map[string]func(tb *vmdTable, record []byte){
		"dptr": func(tb *vmdTable, record []byte) { record[tb.dptr.off] ^= 1 },
		"hash": func(tb *vmdTable, record []byte) { record[tb.hash.off] ^= 1 },
	} {
		b := ownFile(t, Options{})
		want := image(t, b)
		f, err := decodeBytes(b, "", nil)
		must(t, err)
		change(&f.Layout.table().vmd, b[f.RecordOffset(2, 0):]) // changes the record of variable 11
		got := image(t, b)
		if _, ok := got[11]; ok || len(got) != 3 || got[10] != want[10] || got[13] != want[13] {
			t.Errorf("%s: %d variables can be read", name, len(got))
		}
	}
}
