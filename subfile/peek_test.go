package subfile

import (
	"testing"

	"blobio/internal/vfs"
)

func TestPeekID(t *testing.T) {
	m := &Manifest{ID: "00112233445566778899aabbccddeeff", Layout: "process-centric", Base: "d", Ranks: 1, Prepared: true, Sets: []SetInfo{{Base: "d", Subfiles: make([]Subfile, 1)}}}
	next := *m
	next.ID, next.Prepared = "ff", false
	fsys := vfs.NewMem()
	id := func(want string) {
		t.Helper()
		if got, err := PeekID(fsys, "d"); got != want || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id("")
	check(WriteNext(fsys, "d", &next, false, By{})) // an announcement
	id("")
	check(WriteNext(fsys, "d", m, false, By{}))
	id(m.ID)
	check(Finish(fsys, "d", m, false, By{}))
	id(m.ID)
	check(WriteNext(fsys, "d", &next, false, By{}))
	id(m.ID)
	next.Prepared = true
	check(WriteNext(fsys, "d", &next, false, By{}))
	id("ff")
	b, err := m.Encode()
	check(err)
	for n := range b { // cut off anywhere
		if got, prepared := peek(b[:n]); got != "" && got != m.ID || prepared && got == "" && n > 200 {
			t.Errorf("of %d bytes: %q, %v", n, got, prepared)
		}
	}
}
