package subfile

import (
	"testing"

	"blobio/internal/base/vfs"
)

func TestPeek(t *testing.T) {
	m := &Manifest{ID: "00112233445566778899aabbccddeeff", Layout: "process-centric", Base: "d", Ranks: 1, Prepared: true, Sets: []SetInfo{{Base: "d", Subfiles: make([]Subfile, 1)}}}
	next := *m
	next.ID, next.Prepared = "ff", false
	fsys := vfs.NewMem()
	id := func(want string) {
		t.Helper()
		if got, log, err := Peek(fsys, "d"); got != want || log != "" || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	id("")
	must(t, WriteNext(fsys, "d", &next, false, By{})) // an announcement
	id("")
	must(t, WriteNext(fsys, "d", m, false, By{}))
	id(m.ID)
	must(t, Finish(fsys, "d", m, false, By{}))
	id(m.ID)
	must(t, WriteNext(fsys, "d", &next, false, By{}))
	id(m.ID)
	next.Prepared = true
	must(t, WriteNext(fsys, "d", &next, false, By{}))
	id("ff")
	whole := need(next.Encode())
	for k := range whole {
		bad := append([]byte(nil), whole...)
		bad[k] ^= 1
		must(t, fsys.Remove(NextName("d")))
		must(t, vfs.WriteFile(fsys, NextName("d"), bad))
		id("ff")
	}
	for tag, want := range map[string]string{"": "", mine: mine, "../w1a2b3c4": ""} {
		m.Writer, m.Log = mine, tag
		b := need(m.Encode())
		all := -1          // length of the prefix that contains all fields
		for n := range b { // cut at any length
			got, log, prepared := peek(b[:n])
			if got != "" && got != m.ID || log != "" && log != want || prepared && got == "" && n > 200 {
				t.Errorf("of %d bytes: %q, %q, %v", n, got, log, prepared)
			}
			if all < 0 && got == m.ID && log == want && prepared {
				all = n
			}
		}
		if all < 0 || all > peekBytes/2 {
			t.Errorf("%q: told by %d bytes", tag, all)
		}
	}
}
