package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func env(kv ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1], true
			}
		}
		return "", false
	}
}

// show formats entries as parent/{child ...} lines.
func show(f *file) string {
	var b strings.Builder
	for _, e := range f.Entries {
		fmt.Fprintf(&b, "%d %s/%s", e.Line, e.Key, e.Value)
		for _, c := range e.Children {
			fmt.Fprintf(&b, " %s/%s", c.Key, c.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"\n  \n# only this\n", ""},
		{"SCR_FLUSH=5", "1 SCR_FLUSH/5\n"},
		{" scr_flush \t=  5  # five\r\n", "1 SCR_FLUSH/5\n"},
		{"CKPT=1 INTERVAL=4 TYPE=XOR", "1 CKPT/1 INTERVAL/4 TYPE/XOR\n"},
		{"ckpt = 1 interval =4 type= XOR#c", "1 CKPT/1 INTERVAL/4 TYPE/XOR\n"},
		{"A=1\n\nB=2", "1 A/1\n3 B/2\n"},
		{"CKPT=1 TYPE=XOR\nCKPT=2\nCKPT=1 TYPE=RS GROUP=NODE\n", "1 CKPT/1 TYPE/RS GROUP/NODE\n2 CKPT/2\n"},
		{`A=a\ b\=c\#d\\e\$f`, "1 A/a b=c#d\\e$f\n"},
		{"A=$X/${Y}z/$X", "1 A/ex/why" + "z/ex\n"},
		{"A=$ B=$9 C=5$", "1 A/$ B/$9 C/5$\n"},
		{"A=${X}${E}", "1 A/ex\n"},
		{"A=\"quotes\" B='stay'", "1 A/\"quotes\" B/'stay'\n"},
		{"\xc3\xa9=\xff", "1 \xc3\x89/\xff\n"},
	} {
		f, err := parse("f", []byte(c.in), env("X", "ex", "Y", "why", "E", ""))
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := show(f); got != c.want {
			t.Errorf("%q:\n%s, want\n%s", c.in, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"A", "f:1:2: want '=' after A"},
		{"\n\nA=1 B\n", "f:3:6: want '=' after B"},
		{"A B=1", "f:1:3: want '=' after A"},
		{"A=", "f:1:3: no value after A="},
		{"A=  # nothing", "f:1:5: no value after A="},
		{"=1", "f:1:1: '=' without a key before it"},
		{"A==1", "f:1:3: second '=' after A; write \\= for '=' in a value"},
		{"A=b=c", "f:1:4: '=' after the value of A; write \\= for '=' in a value"},
		{"A=1\nB=/p/$NO/x", "f:2:6: NO is not set in the environment"},
		{"A=${X", "f:1:3: want ${NAME}"},
		{"A=${}", "f:1:3: want ${NAME}"},
		{"A=x\\", "f:1:4: backslash at the end of the line"},
		{"A=x\\\nB=1", "f:1:4: backslash at the end of the line"},
		{"A=x\x00", "f:1:4: NUL byte in a text file"},
		{"A=" + strings.Repeat("x", maxLine), "f:1:1: line is longer than 65536 bytes"},
	} {
		_, err := parse("f", []byte(c.in), nil)
		var se *SyntaxError
		if !errors.As(err, &se) || !errors.Is(err, ErrUsage) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.in, err, c.want)
		}
	}
}

// All faults of a file are reported, up to maxErrors.
func TestParseAllErrors(t *testing.T) {
	_, err := parse("f", []byte("A\nB=1\nC\nD=1 E"), nil)
	if got := strings.Count(err.Error(), "want '='"); got != 3 {
		t.Errorf("%d faults told: %v", got, err)
	}
	_, err = parse("f", []byte(strings.Repeat("A\n", 1000)), nil)
	if got := strings.Count(err.Error(), "want '='"); got != maxErrors {
		t.Errorf("%d faults told", got)
	}
}

func TestParseManyChildren(t *testing.T) {
	var b strings.Builder
	for i := range maxChildren + 1 {
		fmt.Fprintf(&b, "A=1 K%d=1\n", i)
	}
	_, err := parse("f", []byte(b.String()), nil)
	var se *SyntaxError
	if !errors.As(err, &se) || se.Line != maxChildren+1 {
		t.Errorf("%v", err)
	}
}

// Values written with escapes are read back unchanged.
func TestParseRoundTrip(t *testing.T) {
	escape := strings.NewReplacer(" ", `\ `, "\t", "\\\t", "=", `\=`, "#", `\#`, `\`, `\\`, "$", `\$`)
	key := rapid.StringMatching(`[A-Z_][A-Z_0-9]{0,5}`)
	value := rapid.StringMatching(`[ -~]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Pair {
			return Pair{key.Draw(t, "key"), value.Draw(t, "value")}
		}), 1, 5, func(p Pair) string { return p.Key }).Draw(t, "pairs")
		var text []string
		for _, p := range pairs {
			text = append(text, p.Key+rapid.SampledFrom([]string{"=", " = ", "\t="}).Draw(t, "eq")+escape.Replace(p.Value))
		}
		f, err := parse("f", []byte(strings.Join(text, " ")), nil)
		if err != nil {
			t.Fatal(err)
		}
		e := f.Entries[0]
		if got := append([]Pair{e.Pair}, e.Children...); !reflect.DeepEqual(got, pairs) {
			t.Fatalf("%q: %q", text, got)
		}
	})
}

func TestExpand(t *testing.T) {
	for in, want := range map[string]string{
		"plain":      "plain",
		"$X/${X}":    "ex/ex",
		"$NO-${NO}.": "-.",
		`\$X`:        "$X",
		"$":          "$",
		"${":         "${",
		"a$1":        "a$1",
		`C:\x`:       `C:\x`,
	} {
		if got := expand(in, env("X", "ex")); got != want {
			t.Errorf("expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"CKPT=1 INTERVAL=4 TYPE=XOR # x\n", "A=$X ${Y}=1", `A=\ \\`, "A==", "A=1\nA=2\nA=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		file, err := parse("f", []byte(s), env("X", "a b=c", "Y", ""))
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.Line < 1 || se.Column < 1 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		for _, e := range file.Entries {
			if e.Key == "" || e.Line < 1 || e.Last < e.Line {
				t.Fatalf("%q: %+v", s, e)
			}
			if last, ok := file.last(e.Key); !ok || last.Last < e.Last {
				t.Fatalf("%q: the last of %s is %+v", s, e.Key, last)
			}
		}
	})
}
