package durable

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

var kind = Seal{Format: "some format", Version: 2}

type sample struct {
	SealHead
	Names []string `json:"names"`
}

func encode(t testing.TB, seq int64, names ...string) []byte {
	t.Helper()
	return need(kind.Encode(&sample{kind.Head(seq), names}))
}

func decode(b []byte) (*sample, error) {
	var s sample
	return &s, kind.Decode(b, "f", &s, &s.SealHead)
}

func TestEncode(t *testing.T) {
	const line = `{"format":"some format","version":2,"seq":7,"names":["a","b"]}` + "\n"
	b := encode(t, 7, "a", "b")
	if want := line + fmt.Sprintf("crc32 %08x\n", crc32.ChecksumIEEE([]byte(line))); string(b) != want {
		t.Fatalf("%q, want %q", b, want)
	}
	s, err := decode(b)
	if err != nil || s.Seq != 7 || len(s.Names) != 2 || s.Names[1] != "b" {
		t.Fatalf("%+v %v", s, err)
	}
}

// TestDamage: any changed, lost or added byte gives an error with its offset.
func TestDamage(t *testing.T) {
	b := encode(t, 7, "a")
	n := bytes.IndexByte(b, '\n') + 1
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x10
		var fe *fault.FormatError
		if _, err := decode(c); !errors.As(err, &fe) || fe.File != "f" || fe.Offset < 0 || fe.Offset > int64(len(b)) {
			t.Errorf("byte %d: %v", i, err)
		}
		want := fault.ErrTruncated
		if i >= n {
			want = fault.ErrChecksum
		}
		if _, err := decode(b[:i]); !errors.Is(err, want) {
			t.Errorf("cut to %d bytes: %v, want %v", i, err, want)
		}
	}
	if _, err := decode(append(bytes.Clone(b), 'x')); !errors.Is(err, fault.ErrChecksum) {
		t.Errorf("a byte more: %v", err)
	}
	other, err := Seal{"some format", 3}.Encode(&sample{Seal{"some format", 3}.Head(1), nil})
	must(t, err)
	if _, err := decode(other); !errors.Is(err, fault.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
	if _, err := decode([]byte("[1]\ncrc32 0\n")); !errors.Is(err, fault.ErrNotFormat) {
		t.Errorf("other JSON: %v", err)
	}
	another := Seal{"another format", kind.Version}
	if b, err = another.Encode(&sample{another.Head(1), nil}); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(b); !errors.Is(err, fault.ErrNotFormat) {
		t.Errorf("another format: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, 1, "a"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decode(b); err == nil && s.Format != kind.Format {
			t.Errorf("%+v", s)
		}
	})
}

// TestIsSeal: only a file that begins like a seal is one.
func TestIsSeal(t *testing.T) {
	mem := vfs.NewMem()
	must(t, errors.Join(mem.Mkdir("dir"), vfs.WriteFile(mem, "short", []byte("{")), vfs.WriteFile(mem, "other", encode(t, 1)),
		vfs.WriteFile(mem, "seal", []byte(`{"format":"blobio store","version":1`))))
	for name, want := range map[string]bool{"dir": false, "short": false, "other": false, "gone": false, "seal": true} {
		if is, err := IsSeal(mem, name); is != want || err != nil {
			t.Errorf("%s: %v, %v", name, is, err)
		}
	}
}
