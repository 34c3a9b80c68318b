package subfile

import "testing"

// TestLogNames: LogName and Base agree for any dataset name.
func TestLogNames(t *testing.T) {
	for _, base := range []string{"d.nc", "x/d.nc", "d.nc.manifest", "a.w00000001.log", "F.0001"} {
		name := LogName(base, mine)
		if b, tag, ok := LogOf(name); b != base || tag != mine || !ok || Base(name) != base {
			t.Errorf("%s: %q, %q, %v; base %q", name, b, tag, ok, Base(name))
		}
	}
	for _, name := range []string{"d.nc.log", "d.nc.w00000001.log", ".manifest.w00000001.log", "d.nc.manifest.log", "d.nc.manifest.w0000001.log", "d.nc.manifest.w00000001.log2"} {
		if b, _, ok := LogOf(name); ok || Base(name) != name {
			t.Errorf("%s: a log of %q", name, b)
		}
	}
}

func TestNames(t *testing.T) {
	if got := Name("d/F_h0.nc", 7); got != "d/F_h0.nc.0007" {
		t.Errorf("Name = %q", got)
	}
	if got := Name("F.nc", 12345); got != "F.nc.12345" {
		t.Errorf("Name = %q", got)
	}
	for _, c := range []struct {
		in, base string
		i        int
		ok       bool
	}{
		{"F.nc.0000", "F.nc", 0, true},
		{"a/b.c/F.nc.0012", "a/b.c/F.nc", 12, true},
		{"F.nc.0012.partial", "F.nc", 12, true},
		{"F.nc.12345", "F.nc", 12345, true},
		{"F.nc.01234", "", 0, false}, // five digits never begin with 0
		{"F.nc.012", "", 0, false},
		{"F.nc", "", 0, false},
		{"F.nc.00a0", "", 0, false},
		{".0000", "", 0, false},
		{"F.nc.+000", "", 0, false},
		{"F.nc.99999999999999999999", "", 0, false},
	} {
		base, i, ok := Split(c.in)
		if base != c.base || i != c.i || ok != c.ok {
			t.Errorf("Split(%q) = %q, %d, %v, want %q, %d, %v", c.in, base, i, ok, c.base, c.i, c.ok)
		}
	}
	for in, want := range map[string]string{
		"F.nc.0003": "F.nc", "F.nc.manifest": "F.nc", "F.nc.manifest.next": "F.nc", "F.nc": "F.nc",
		"F.h5+2.0001": "F.h5", "F.h5+2.0001.partial": "F.h5", "F+x.0001": "F+x",
	} {
		if got := Base(in); got != want {
			t.Errorf("Base(%q) = %q, want %q", in, got, want)
		}
	}
	if SetBase("F.h5", 0) != "F.h5" || SetBase("F.h5", 2) != "F.h5+2" {
		t.Error("SetBase")
	}
}
