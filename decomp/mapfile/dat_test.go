package mapfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

func readText(s string) (*File, error) {
	return Read(strings.NewReader(s), int64(len(s)), "t.dat")
}

func TestDat(t *testing.T) {
	const head = "version 2001 npes 3 ndims 2 \n4 3 \n"
	one := [][]decomp.Req{{{Offset: 0, Length: 2}}, nil, nil}
	for _, c := range []struct {
		name, text string
		want       [][]decomp.Req
	}{
		{"plain", head + "0 2\n1 2 \n1 0\n\n2 1\n12 \n", [][]decomp.Req{{{Offset: 0, Length: 2}}, nil, {{Offset: 11, Length: 1}}}},
		{"holes merge", head + "0 5\n0 1 0 2 0\n", one},
		{"over the size is a hole", head + "0 4\n13 1 2 99999999999\n", one},
		{"row end", head + "0 4\n3 4 5 6\n", [][]decomp.Req{{{Offset: 2, Length: 2}, {Offset: 4, Length: 2}}, nil, nil}},
		{"order is kept", head + "0 5\n6 7 1 2 5\n", [][]decomp.Req{{{Offset: 5, Length: 2}, {Offset: 0, Length: 2}, {Offset: 4, Length: 1}}, nil, nil}},
		{"blank lines", "\n \n" + head + "\n\n0 2\n\n\n1 2\n\n", one},
		{"a byte order mark", "\ufeff" + head + "0 2\n1 2\n", one},
		{"windows", strings.ReplaceAll(head+"0 2\n1 2\n", "\n", "\r\n"), one},
		{"no line end", head + "0 2\n1 2", one},
		{"stack trace", head + "0 2\n1 2\n\nObtained 10 stack frames.\n/bin/x() [0x1]\n", one},
		{"any order", head + "2 1\n12\n0 2\n1 2\n", [][]decomp.Req{{{Offset: 0, Length: 2}}, nil, {{Offset: 11, Length: 1}}}},
		{"empty list at the end", head + "0 2\n1 2\n1 0", one},
		{"nothing", head, [][]decomp.Req{nil, nil, nil}},
	} {
		f, err := readText(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := &f.Maps[0]
		if f.Procs != 3 || !slices.Equal(r.Dims(), []int64{3, 4}) || f.Format != "PIO text" {
			t.Errorf("%s: %d processes, %v", c.name, f.Procs, r.Dims())
		}
		for p := range 3 {
			if got := r.Reqs.AppendReqs(nil, p); !slices.Equal(got, c.want[p]) {
				t.Errorf("%s: process %d: %v, want %v", c.name, p, got, c.want[p])
			}
		}
	}
}

func TestDatRefuses(t *testing.T) {
	const head = "version 2001 npes 3 ndims 2\n4 3\n"
	for _, c := range []struct {
		text  string
		class error
		at    int64
		say   string
	}{
		{"version 2002 npes 3 ndims 1\n4\n", fault.ErrVersion, 8, "2002, want 2001"},
		{"version x\n", fault.ErrCorrupt, 8, `"x", want a number`},
		{"version 2001 nper 3", fault.ErrCorrupt, 13, `want the word "npes"`},
		{"version 2001 npes 3 ndims 1 7\n", fault.ErrCorrupt, 28, "want the end of the line"},
		{"version 2001 npes 0 ndims 1\n", fault.ErrCorrupt, 18, "want 1 to"},
		{"version 2001 npes 2000000000 ndims 1\n", fault.ErrTooLarge, 18, "want 1 to"},
		{"version 2001 npes 3 ndims 999999999999\n", fault.ErrTooLarge, 26, "want 1 to 64"},
		{"version 2001 npes 3 ndims 2\n4\n3\n", fault.ErrCorrupt, 29, "the line ends"},
		{"version 2001 npes 3 ndims 2\n4 0\n", fault.ErrCorrupt, 30, "0, want >= 1"},
		{"version 2001 npes 3 ndims 2\n4 9223372036854775807\n", fault.ErrCorrupt, 28, "product < 2^63"}, // the slower dimension is read first
		{head + "3 1\n1\n", fault.ErrCorrupt, 32, "3, want 0 to 2"},
		{head + "-1 1\n1\n", fault.ErrCorrupt, 32, "-1, want 0 to 2"},
		{head + "0 9000000000000000000\n1\n", fault.ErrTruncated, 34, "bytes are left"},
		{head + "0 -5\n1\n", fault.ErrCorrupt, 34, "-5"},
		{head + "0 1\n-4\n", fault.ErrCorrupt, 36, "-4, want >= 0"},
		{head + "0 3\n1 2\n", fault.ErrCorrupt, 39, "the line ends"},
		{head + "0 3\n11 2", fault.ErrTruncated, 40, "the line ends"},
		{head + "0 3\n1 2\n1 1\n3\n", fault.ErrCorrupt, 39, "the line ends"},
		{head + "0 1\n1 2\n", fault.ErrCorrupt, 38, `"2", want the end of the line`},
		{head + "0 1\n1\n0 1\n2\n", fault.ErrCorrupt, 38, "occurs twice"},
		{head + "0 1\n1\nhello\n", fault.ErrCorrupt, 38, `"hello", want a number`},
		{head + "0 1\n99999999999999999999\n", fault.ErrCorrupt, 36, "want a number"},
		{head + "0 1\n\x00\n", fault.ErrCorrupt, 36, "want a number"},
		{head + "0 1\n" + strings.Repeat("9", 100000), fault.ErrCorrupt, 36, "longer than any word"},
		{"version 2001", fault.ErrTruncated, 12, ""},
	} {
		_, err := readText(c.text)
		var fe *fault.FormatError
		if !errors.Is(err, c.class) || !errors.As(err, &fe) || !strings.Contains(err.Error(), c.say) || c.at >= 0 && fe.Offset != c.at {
			if c.say == "product < 2^63" && errors.Is(err, c.class) && strings.Contains(err.Error(), c.say) {
				continue
			}
			t.Errorf("%.60q: %v, want %v at %#x saying %q", c.text, err, c.class, c.at, c.say)
		}
	}
}

// The lists are longer than the buffer, and words cross the boundaries of the buffer.
func TestDatBuffers(t *testing.T) {
	const n = 60000
	for _, pad := range []int{0, 1, 2, 3, 4, 5, 6} {
		var b strings.Builder
		fmt.Fprintf(&b, "version 2001 npes 1 ndims 1%s\n%d\n0 %d\n", strings.Repeat(" ", pad), n, n)
		for i := range n {
			fmt.Fprintf(&b, "%d ", (i*7919)%n+1)
		}
		f := need(readText(b.String()))
		c, err := f.Maps[0].Elems.Coverage()
		if err != nil || !c.Full() || f.Maps[0].Elems.Count(0) != n {
			t.Errorf("pad %d: %+v, %v", pad, c, err)
		}
	}
}

func FuzzDat(f *testing.F) {
	f.Add([]byte("version 2001 npes 3 ndims 2 \n4 3 \n0 2\n1 2 \n1 0\n\n2 1\n12 \nObtained 3\n"))
	f.Add([]byte("version 2001 npes 2 ndims 1\n10\n\n1 4\n0 11 10 9\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, datMagic) || len(data) > 1<<16 {
			return
		}
		file, err := Read(bytes.NewReader(data), int64(len(data)), "x")
		if err != nil {
			return
		}
		var b bytes.Buffer
		must(WriteDat(&b, &file.Maps[0]))
		if b.Len() > 1<<20 {
			return
		}
		again := need(Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "y"))
		if !again.Maps[0].Reqs.Equal(file.Maps[0].Reqs) || !again.Maps[0].Elems.Equal(file.Maps[0].Elems) {
			t.Fatal("written and read again, the map is another")
		}
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// need returns v and fails on an error.
func need[T any](v T, err error) T {
	must(err)
	return v
}
