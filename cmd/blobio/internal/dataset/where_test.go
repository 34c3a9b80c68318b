package dataset_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestWhere checks that the bytes at the printed offset are the value.
func TestWhere(t *testing.T) {
	for k, path := range globes(t) {
		for _, c := range []struct {
			element string
			value   float64
			size    int
		}{{"T[5,2,3,7]", 5*280 + 2*56 + 3*8 + 7, 4}, {"time[6]", 365, 8}, {"clat[4]", -80, 8}, {"T[-1,-1,-1,-1]", 6*280 + 4*56 + 6*8 + 7, 4}, {"n", 4, 2}, {"n[]", 4, 2}, {"Q[1, 10]", 1, 2}} {
			var d struct {
				Owned         bool
				Value         float64
				File, Order   string
				Offset        int64
				Bytes, Record int
				Rank, Request *int
				Run           []int64
			}
			clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "where", "--json", c.element, path)), &d))
			if !d.Owned || d.Value != c.value || d.Bytes != c.size {
				t.Errorf("%s of %s: %+v, want %v", c.element, path, d, c.value)
			}
			file := clitest.Read(t, d.File)
			b := file[d.Offset : d.Offset+int64(d.Bytes)]
			var o binary.ByteOrder = binary.BigEndian
			if d.Order == "little" {
				o = binary.LittleEndian
			}
			var got float64
			switch c.size {
			case 2:
				got = float64(int16(o.Uint16(b)))
			case 4:
				got = float64(math.Float32frombits(o.Uint32(b)))
			case 8:
				got = math.Float64frombits(o.Uint64(b))
			}
			if got != c.value {
				t.Errorf("%s of %s: the bytes at %d are %v, want %v", c.element, path, d.Offset, got, c.value)
			}
			if decomposed := k > 0 && strings.Contains("TcQ", c.element[:1]); decomposed != (d.Rank != nil) || decomposed && (len(d.Run) != 2 || d.Request == nil) {
				t.Errorf("%s of %s: %+v", c.element, path, d)
			}
			text := clitest.Good(t, "where", c.element, path)
			if !strings.Contains(text, fmt.Sprintf("= %v (", c.value)) || !strings.Contains(text, fmt.Sprintf("%d at %d (%#x)", d.Bytes, d.Offset, d.Offset)) {
				t.Errorf("%s of %s:\n%s", c.element, path, text)
			}
		}
		for words, want := range map[string]string{"T[0]": "want 4", "T[0,0,0,8]": "want 0..7", "T[0,0,0,x]": "want a variable and its indices", "t[0]": `did you mean "T"`, "[0]": "want a variable",
			"T[0,0,0,-9]": "index -9 of dimension \"lon\" of \"T\", want -8 to 7", "T[0,0,0,0": "want a variable", "none": "no variable"} {
			clitest.Bad(t, cli.Failed, want, "where", words, path)
		}
	}
}

// TestWhereNobody checks that where reports an unwritten element in its text and exit code.
func TestWhereNobody(t *testing.T) {
	dir := t.TempDir()
	clitest.Good(t, "replay", "--case", "I", "--history", "h0", "--lat", "24", "--lon", "36", "--layout", "process", "--num-records", "1", "--no-verify", "--no-convert", "--no-sync", "-o", dir)
	found := [2]int{}
	for i := 0; i < 24; i += 2 {
		r := clitest.Blobio(t, "where", "--json", fmt.Sprintf("TSOI[0,0,%d,%d]", i, i), filepath.Join(dir, "I_h0.h5"))
		var d struct {
			Owned bool
			Value float64
		}
		clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
		if d.Owned != (r.Code == cli.Good) || d.Owned == (d.Value > 1e30) {
			t.Errorf("element %d: exit code %d, %+v", i, r.Code, d)
		}
		found[r.Code]++
	}
	if found[0] == 0 || found[1] == 0 {
		t.Errorf("%d elements of land, %d of none", found[0], found[1])
	}
}
