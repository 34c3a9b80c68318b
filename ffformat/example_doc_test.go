package ffformat

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// workedExample returns the example file in docs/format-fti-ff.md, of layout F, with one variable
// of 4 bytes.
func workedExample(t testing.TB) []byte {
	t.Helper()
	f := layOut(LayoutF, [][]spec{{{1, 4, 4}}})
	f.FB.CkptID, f.FB.Timestamp = 1, 1700000000
	b := make([]byte, f.Size)
	copy(b, "abcd")
	f.at(0, 0).Hash = chunkHash(f, b[:4])
	reseal(t, f, b)
	return b
}

// TestWorkedExample: docs/format-fti-ff.md shows exactly the bytes of the example file.
func TestWorkedExample(t *testing.T) {
	doc, err := os.Open("../docs/format-fti-ff.md")
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	var got []byte
	for s := bufio.NewScanner(doc); s.Scan(); {
		line := s.Text()
		if len(line) < 12 || !strings.HasPrefix(line, "0000") || line[8:10] != "  " {
			continue
		}
		digits, _, _ := strings.Cut(line[10:], "   ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, b...)
	}
	if want := workedExample(t); !bytes.Equal(got, want) {
		t.Errorf("the document has\n%x, want\n%x", got, want)
	}
}
