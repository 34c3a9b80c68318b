package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"blobio/internal/base/fault"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" , ,", ""},
		{"atlas[3,5-7,9-11]", "atlas3 atlas5 atlas6 atlas7 atlas9 atlas10 atlas11"},
		{"atlas5", "atlas5"},
		{"login", "login"},
		{"atlas[3,1,3]", "atlas3 atlas1 atlas3"}, // order and duplicates are kept
		{"n[08-10]", "n08 n09 n10"},
		{"n[8-10]", "n8 n9 n10"},
		{"n[098-101]", "n098 n099 n100 n101"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
		{"node[3-4].site.org", "node3.site.org node4.site.org"},
		{"a1,b[2-3], c4\nd", "a1 b2 b3 c4 d"},
		{"[1-2]", "1 2"},
	} {
		got, err := Expand(c.in)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("Expand(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestExpandErrors(t *testing.T) {
	for _, c := range []struct {
		in    string
		pos   int
		class error
	}{
		{"a[", 2, fault.ErrUsage},
		{"a[1", 1, fault.ErrUsage},
		{"a[1-", 4, fault.ErrUsage},
		{"a[]", 2, fault.ErrUsage},
		{"a[1,]", 4, fault.ErrUsage},
		{"a[x]", 2, fault.ErrUsage},
		{"a[1 2]", 3, fault.ErrUsage},
		{"a[1-2-3]", 5, fault.ErrUsage},
		{"b,a1]", 4, fault.ErrUsage},
		{"a[7-5]", 2, fault.ErrUsage},
		{"a[1234567890123456789]", 2, fault.ErrUsage},
		{"a[0-99999999]", 2, fault.ErrTooLarge},
		{"b1,a[0-999999][0-999999]", 3, fault.ErrTooLarge},
		{"a[0-999999],a[0-999999]", 12, fault.ErrTooLarge},
		{"a" + strings.Repeat("[1]", 9), 25, fault.ErrUsage},
		{"a" + strings.Repeat("[1-999999]", 8), 0, fault.ErrTooLarge}, // the number of hosts would overflow
	} {
		got, err := Expand(c.in)
		var se *SyntaxError
		if !errors.As(err, &se) || !errors.Is(err, c.class) || se.Pos != c.pos {
			t.Errorf("Expand(%q) = %d hosts, %v; want class %v at %d", c.in, len(got), err, c.class, c.pos)
		}
	}
}

func TestExpandLongNames(t *testing.T) {
	_, err := Expand(strings.Repeat("x", 1<<12) + "[0-999999]")
	if !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("a list of 4 GB of names: %v", err)
	}
}

func TestCompress(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"atlas3 atlas5 atlas6 atlas7 atlas9 atlas10 atlas11", "atlas[3,5-7,9-11]"},
		{"atlas11 atlas3 atlas10", "atlas[3,10-11]"},
		{"atlas3 atlas3 atlas4", "atlas[3,3-4]"},
		{"atlas4", "atlas4"},
		{"n08 n09 n10", "n[08-10]"},
		{"n9 n10", "n[9-10]"},
		{"n9 n010 n11", "n[9,010,11]"},
		{"b1 a2 a1 login login", "a[1-2],b1,login,login"},
		{"node4.site.org node3.site.org", "node[3-4].site.org"},
		{"n1234567890123456789 n1", "n1,n1234567890123456789"},
	} {
		if got := Compress(strings.Fields(c.in)); got != c.want {
			t.Errorf("Compress(%s) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestAlgebra(t *testing.T) {
	a, _ := Expand("atlas[3,5-7,9-11]")
	b, _ := Expand("atlas[5,7,20]")
	if got := Compress(Diff(a, b)); got != "atlas[3,6,9-11]" {
		t.Errorf("Diff: %s", got)
	}
	if got := Compress(Intersect(a, b)); got != "atlas[5,7]" {
		t.Errorf("Intersect: %s", got)
	}
	if got := Compress(Union(a, b, a)); got != "atlas[3,5-7,9-11,20]" {
		t.Errorf("Union: %s", got)
	}
	for n, want := range map[int]string{3: "atlas6", 1: "atlas3", 7: "atlas11", -1: "atlas11", 0: "", 8: "", -8: ""} {
		if got, ok := Nth(a, n); got != want || ok != (want != "") {
			t.Errorf("Nth(%d) = %q, %v", n, got, ok)
		}
	}
	if got := Diff([]string{"x", "y", "x"}, []string{"y"}); !slices.Equal(got, []string{"x", "x"}) {
		t.Errorf("Diff lost duplicates: %q", got)
	}
}

// Expanding the compressed form gives the same hosts, sorted. Compressing the result again
// changes nothing.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			head := rapid.SampledFrom([]string{"a", "ab", "n-", "", "r2n"}).Draw(t, "head")
			tail := rapid.SampledFrom([]string{"", ".x.org", ".7", "-ib"}).Draw(t, "tail")
			width := rapid.IntRange(0, 3).Draw(t, "width")
			return fmt.Sprintf("%s%0*d%s", head, width, rapid.IntRange(0, 120).Draw(t, "n"), tail)
		}), 0, 40).Draw(t, "hosts")
		text := Compress(hosts)
		got, err := Expand(text)
		if err != nil {
			t.Fatal(err)
		}
		if want := Sort(hosts); !slices.Equal(got, want) {
			t.Fatalf("%q from %q gives %q", text, want, got)
		}
		if again := Compress(got); again != text {
			t.Fatalf("%q compressed again is %q", text, again)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"atlas[3,5-7,9-11]", "a[", "r[1-2]n[01-02].x, y", "[9-1]", "a[0-65535]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hosts, err := Expand(s)
		if err != nil || len(hosts) > 1000 {
			return
		}
		again, err := Expand(Compress(hosts))
		if err != nil || !slices.Equal(again, Sort(hosts)) {
			t.Fatalf("%q: %q, then %q, %v", s, hosts, again, err)
		}
	})
}
