package fault

import "testing"

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"": "", "ckpt.1 ä": "ckpt.1 ä", "a\x1b[2J": `"a\x1b[2J"`, "a\n": `"a\n"`, "\xff": `"\xff"`, `"`: `"`} {
		if got := Quoted(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestBelow(t *testing.T) {
	for n, want := range map[int64]string{0: "none, because there are no records", 1: "0..0", 3: "0..2"} {
		if got := Below(n, "records"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
