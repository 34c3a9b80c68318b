package manpage_test

import (
	"os/exec"
	"strings"
	"testing"

	"blobio/internal/base/manpage"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/version"
)

func sample() *manpage.Page {
	p := manpage.New("blobio-x", 1, "Show .what's \\there\\.", "blobio-x", "blobio-y")
	p.Head("DESCRIPTION")
	p.Text(".dots and 'quotes' at\n'the begin' of lines, --flags, a~b^c`d`.\n\nTable:\n  a\tb\n  .c  d\nand on.\n")
	p.Lines(true, "int f(const char *s);", ".x")
	p.Indented("what it does\n\nand more\n")
	p.Item("-o, --output", "FILE", "'where' it goes")
	p.SeeAlso("blobio", "blobio-z")
	return p
}

func TestPage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	var b strings.Builder
	if _, err := sample().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	want := `.TH BLOBIO-X 1 1970-01-02 "blobio ` + version.Number + `"
.nh
.ad l
.SH NAME
blobio\-x, blobio\-y \- Show .what\(aqs \ethere\e
.SH DESCRIPTION
\&.dots and \(aqquotes\(aq at
\(aqthe begin\(aq of lines, \-\-flags, a\(tib\(hac\(gad\(ga.
.PP
Table:
.PP
.nf
  a    b
  .c  d
.fi
.PP
and on.
.nf
\fBint f(const char *s);\fR
\fB.x\fR
.fi
.RS
what it does
.PP
and more
.RE
.TP
\fB\-o, \-\-output\fR \fIFILE\fR
\(aqwhere\(aq it goes
.SH SEE ALSO
\fBblobio\fR(1),
\fBblobio\-z\fR(1)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestPageShown: the formatted page shows the text as it was written.
func TestPageShown(t *testing.T) {
	testfiles.Judge(t, "mandoc")
	var b strings.Builder
	if _, err := sample().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mandoc", "-Tascii", "-Wwarning", "-Owidth=200")
	cmd.Stdin = strings.NewReader(b.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plain := strings.NewReplacer("\b", "").Replace(string(out))
	for _, s := range []string{".dots and 'quotes' at 'the begin' of lines, --flags, a~b^c`d`.", "  a    b\n", "  .c  d\n", "what it does"} {
		if !strings.Contains(plain, s) {
			t.Errorf("%q is not shown in\n%s", s, plain)
		}
	}
}
