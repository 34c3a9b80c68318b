package diary

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNobodyReads: a caller does not wait. Flush waits only briefly. A later reader gets the number of missing lines.
func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		d := New(w, nil)
		line := strings.Repeat("x", 999)
		const n = 3000
		for range n {
			fmt.Fprintln(d, line)
		}
		before := time.Now()
		if d.Flush(); time.Since(before) != patience {
			t.Errorf("waited for %v", time.Since(before))
		}
		var got []string
		read := make(chan struct{})
		go func() {
			defer close(read)
			b, _ := io.ReadAll(r)
			got = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		}()
		d.Flush()
		fmt.Fprintln(d, "the last")
		d.Flush()
		w.Close()
		<-read
		kept, lost := 0, 0
		for _, l := range got {
			if l == line {
				kept++
			} else if k, _ := fmt.Sscanf(l, "%d lines were dropped", &lost); k == 0 && l != "the last" {
				t.Errorf("%.80q", l)
			}
		}
		if kept+lost != n || kept == 0 || lost == 0 || got[len(got)-1] != "the last" {
			t.Errorf("%d kept and %d lost of %d, at last %.40q", kept, lost, n, got[len(got)-1])
		}
	})
}

// TestRepeats: the first lines of a kind are written, then the number of the others.
func TestRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		d := New(&b, func() string { return "> " })
		for range 3 {
			for i := range 100 {
				d.Say("read f", fmt.Sprint("read f from byte ", i%50))
			}
			d.Say("open g", "open g: gone")
			time.Sleep(2 * repeatAfter)
		}
		d.Say("open g", "open g: gone")
		d.Say("open g", "open g: gone")
		d.Flush()
		text := b.String()
		for what, n := range map[string]int{"> read f: 92 more similar lines\n": 3, "> read f from byte ": 3 * maxSame, "> open g: gone\n": 4, "> open g: 1 more similar lines\n": 1} {
			if strings.Count(text, what) != n {
				t.Errorf("%q %d times, want %d:\n%s", what, strings.Count(text, what), n, text)
			}
		}
	})
}

// TestNothing: without a writer no line is kept.
func TestNothing(t *testing.T) {
	for _, d := range []*Diary{nil, New(nil, nil)} {
		d.Say("a", "b")
		fmt.Fprintln(d, "c")
		d.Flush()
	}
}
