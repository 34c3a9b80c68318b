package fault

import (
	"encoding/json"
	"io/fs"
	"syscall"
	"testing"
)

func TestFinding(t *testing.T) {
	for _, c := range []struct {
		f          Finding
		line, json string
	}{
		{Of(Error, "f", At("", 16, "magic", ErrCorrupt, "%d, want %d", 3, 5)),
			"error: f: 0x10: magic: 3, want 5 (corrupt)",
			`{"severity":"error","file":"f","offset":16,"field":"magic","message":"3, want 5","found":"3","wanted":"5","class":"corrupt"}`},
		{Finding{Severity: Note, Offset: -1, Msg: "bad\x1b"}, `note: bad\x1b`, `{"severity":"note","message":"bad\u001b"}`},
		{Finding{Severity: Warning, File: "d", Offset: 0, Found: "1", Wanted: "2", Rank: Num(0), Node: Num(2), Dataset: Num(7), Var: Num(-3)},
			"warning: d: 0x0: 1, want 2",
			`{"severity":"warning","file":"d","offset":0,"rank":0,"node":2,"dataset":7,"var":-3,"message":"1, want 2","found":"1","wanted":"2"}`},
		{Finding{Severity: Error, File: "d", Offset: -1, Field: "index", Msg: "gone", Effect: "hangs", Err: ErrMissing, Block: "B0"},
			"error: d: B0: index: gone (Enzo-E hangs)",
			`{"severity":"error","file":"d","block":"B0","field":"index","message":"gone","class":"missing","effect":"hangs"}`},
		{Of(Error, "", &fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist}), "error: f: open f: file does not exist (missing)",
			`{"severity":"error","file":"f","message":"open f: file does not exist","class":"missing"}`},
		{Of(Error, "f", &FormatError{Offset: 8, Field: "data", Msg: "read", Err: &fs.PathError{Op: "read", Path: "f", Err: syscall.EIO}}),
			"error: f: 0x8: data: read (read f: input/output error)",
			`{"severity":"error","file":"f","offset":8,"field":"data","message":"read (read f: input/output error)"}`},
		{Of(Error, "f", Usage("no rank")), "error: f: no rank (wrong argument)",
			`{"severity":"error","file":"f","message":"no rank","class":"wrong argument"}`},
	} {
		if got := c.f.String(); got != c.line {
			t.Errorf("%q, want %q", got, c.line)
		}
		if b, err := json.Marshal(c.f); err != nil || string(b) != c.json {
			t.Errorf("%s, %v, want %s", b, err, c.json)
		}
	}
}

func TestFindingAsError(t *testing.T) {
	f := Finding{File: "f", Offset: 4, Field: "x", Found: "1", Wanted: "2", Err: ErrCorrupt, Block: "B0"}
	if got, want := f.AsError().Error(), "f: 0x4: B0 x: 1, want 2 (corrupt)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNumber(t *testing.T) {
	var unknown Number
	if _, ok := unknown.Get(); ok || unknown.Is(0) || unknown.String() != "?" {
		t.Error("the zero value is known")
	}
	if n, ok := Num(int32(7)).Get(); n != 7 || !ok || !Num(7).Is(7) || Num(7).String() != "7" {
		t.Error(n, ok)
	}
}
