package cli

import "testing"

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		s string
		n int64
	}{{"0", 0}, {"17", 17}, {"64K", 64 << 10}, {"256M", 256 << 20}, {"256MiB", 256 << 20}, {"1.5g", 3 << 29}, {" 2 T", 2 << 40}} {
		if n, err := ParseBytes(c.s); err != nil || n != c.n {
			t.Errorf("parseBytes(%q) = %d, %v, want %d", c.s, n, err, c.n)
		}
	}
	for _, s := range []string{"", "x", "-1", "1X", "1e30", "NaN", "9999999T"} {
		if n, err := ParseBytes(s); err == nil {
			t.Errorf("parseBytes(%q) = %d, want an error", s, n)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 34140000: "32.6 MiB", 1<<20 - 1: "1.00 MiB", 5 << 40: "5.00 TiB"} {
		if got := HumanBytes(n); got != want {
			t.Errorf("humanBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
