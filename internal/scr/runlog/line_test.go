package runlog

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/testfiles"

	"pgregory.net/rapid"
)

var when = time.Date(2026, 11, 21, 0, 6, 12, 0, time.UTC)

func lines() []struct {
	e    Entry
	text string
} {
	base := Entry{Time: when, Host: "node0", JobID: "1145655"}
	with := func(f func(e *Entry)) Entry { e := base; f(&e); return e }
	return []struct {
		e    Entry
		text string
	}{
		{with(func(e *Entry) { e.Event = Start; e.Procs = Num(int64(4)); e.Nodes = Num(int64(2)) }),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, event=START, procs=4, nodes=2`},
		{with(func(e *Entry) {
			e.Event = CheckpointStart
			e.Note = "/nodelocal"
			e.Dset = Num(int64(1))
			e.Name = "ckpt.1"
		}),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, event=CHECKPOINT_START, note="/nodelocal", dset=1, name="ckpt.1"`},
		{with(func(e *Entry) { e.Event = ComputeEnd; e.Took = Num(404 * time.Microsecond) }),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, event=COMPUTE_END, secs=0.000404`},
		{with(func(e *Entry) {
			e.Xfer, e.From, e.To = FlushSync, "/a", "/b"
			e.Dset, e.Name = Num(int64(3)), "ckpt.3"
			e.Took, e.Bytes, e.Files = Num(135224*time.Microsecond), Num(int64(8444)), Num(int64(8))
		}),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, xfer=FLUSH_SYNC, from=/a, to=/b, dset=3, name="ckpt.3", secs=0.135224, bytes=8444.000000, files=8`},
		{with(func(e *Entry) { e.Event = NodeFail; e.Note = `node3: "down", since=10` }),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, event=NODE_FAIL, note="node3: \"down\", since=10"`},
		{with(func(e *Entry) { e.Xfer, e.From = Write, `C:\tmp` }),
			`2026-11-21T00:06:12: host=node0, jobid=1145655, xfer=WRITE, from="C:\\tmp"`},
	}
}

func TestLines(t *testing.T) {
	for _, c := range lines() {
		if got := string(c.e.AppendLine(nil)); got != c.text {
			t.Errorf("got  %s\nwant %s", got, c.text)
		}
		got, ok := ParseLine(c.text, time.UTC)
		if !ok || !reflect.DeepEqual(got, c.e) {
			t.Errorf("%s: parsed %v %+v", c.text, ok, got)
		}
	}
}

// Lines of the original SCR contain names without escapes.
func TestForeignLines(t *testing.T) {
	head := "2026-11-21T00:06:12: host=node0, jobid=1, "
	for text, name := range map[string]string{
		`event=X, name="a"b", dset=1`:            `a"b`,
		`event=X, name="a\b"`:                    `a\b`,
		`event=X, dset=1, name="a, b"`:           `a, b`,
		`event=X, name="", dset=1`:               ``,
		`event=X, name=bare, new_field=7`:        `bare`,
		`event=X, name="ends in quote"", dset=1`: `ends in quote"`,
	} {
		e, ok := ParseLine(head+text, time.UTC)
		if !ok || e.Name != name {
			t.Errorf("%s: %v, name %q, want %q", text, ok, e.Name, name)
		}
	}
	e, ok := ParseLine(head+`xfer=WRITE, from=/a, b, to=/c d, dset=2`, time.UTC)
	if !ok || e.From != "/a, b" || e.To != "/c d" || *e.Dset != 2 {
		t.Errorf("%v %+v", ok, e)
	}
}

func TestNotALine(t *testing.T) {
	head := "2026-11-21T00:06:12: "
	for _, s := range []string{
		"", "hello", head, head + "host=a, jobid=1", head + "event=A, xfer=B", "2026-13-21T00:06:12: event=A",
		head + "event=A, dset=x", head + "event=A, secs=nan", head + "event=A, secs=1e300", head + "xfer=A, bytes=1.5x", head + "event",
		head + "event=A, dset=99999999999999999999",
	} {
		if e, ok := ParseLine(s, time.UTC); ok {
			t.Errorf("%q is no entry, but read as %+v", s, e)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	text := rapid.StringMatching(`[ -~]{0,20}`)
	trimmed := rapid.StringMatching(`[!-~]([ -~]{0,18}[!-~])?`)
	num := rapid.Map(rapid.Int64(), func(n int64) *int64 { return &n })
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{Time: when, Host: text.Draw(t, "host"), JobID: trimmed.Draw(t, "jobid"), Note: text.Draw(t, "note"),
			From: trimmed.Draw(t, "from"), To: trimmed.Draw(t, "to"), Name: text.Draw(t, "name"),
			Dset: num.Draw(t, "dset"), Bytes: num.Draw(t, "bytes")}
		if rapid.Bool().Draw(t, "xfer") {
			e.Xfer = Write
		} else {
			e.Event = Start
			e.Took = Num(time.Duration(rapid.Int64Range(-1e12, 1e14).Draw(t, "µs")) * time.Microsecond)
		}
		line := string(e.AppendLine(nil))
		got, ok := ParseLine(line, time.UTC)
		if !ok || !reflect.DeepEqual(got, e) {
			t.Fatalf("%s\n%+v\n%+v", line, got, e)
		}
	})
}

func TestControlCharacters(t *testing.T) {
	e := Entry{Time: when, Event: Start, Name: "a\nb\x00c", Host: "x\r\ny"}
	line := string(e.AppendLine(nil))
	if strings.ContainsAny(line, "\n\r\x00") {
		t.Errorf("%q", line)
	}
}

// Logs of the real SCR 3.1: every line is read and written back unchanged.
func TestVectors(t *testing.T) {
	root := testfiles.Dir(t, "scr")
	logs, err := filepath.Glob(filepath.Join(root, "*", "prefix", ".scr", "log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, name := range logs {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Read(strings.NewReader(string(b)), time.UTC)
		if err != nil || l.Skipped != 0 || l.Torn {
			t.Errorf("%s: %v, %d skipped, torn %v", name, err, l.Skipped, l.Torn)
		}
		var out []byte
		for i := range l.Entries {
			out = append(l.Entries[i].AppendLine(out), '\n')
		}
		if string(out) != string(b) {
			t.Errorf("%s: written differently", name)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	for _, c := range lines() {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, ok := ParseLine(s, time.UTC)
		if !ok || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			return
		}
		again, ok := ParseLine(string(e.AppendLine(nil)), time.UTC)
		if !ok || !reflect.DeepEqual(again, e) {
			t.Fatalf("%q\n%+v\n%+v", s, e, again)
		}
	})
}
