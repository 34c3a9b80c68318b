package fault

import "testing"

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"": "", "ckpt.1 ä": "ckpt.1 ä", "a\x1b[2J": `"a\x1b[2J"`, "a\n": `"a\n"`, "\xff": `"\xff"`, `"`: `"`} {
		if got := Quoted(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}
