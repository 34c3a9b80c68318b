package durable

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"blobio/internal/base/fault"
)

type listed struct {
	Version int      `json:"v"`
	Names   []string `json:"names"`
}

var manifests = Manifest{Field: "v", Version: 3}

func decodeManifest(b []byte) (*listed, error) {
	var c listed
	_, err := manifests.Decode(b, "f", &c, &c.Version)
	return &c, err
}

// TestManifest checks the bytes. Any changed, lost or added byte gives an error with its offset.
func TestManifest(t *testing.T) {
	const line = `{"v":3,"names":["a","b"]}` + "\n"
	b, err := manifests.Encode(&listed{3, []string{"a", "b"}})
	if want := line + fmt.Sprintf("{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE([]byte(line))); err != nil || string(b) != want {
		t.Fatalf("%q, want %q, %v", b, want, err)
	}
	if c, err := decodeManifest(b); err != nil || len(c.Names) != 2 || c.Names[1] != "b" {
		t.Fatalf("%+v %v", c, err)
	}
	refused := func(what string, b []byte) {
		t.Helper()
		var fe *fault.FormatError
		if _, err := decodeManifest(b); !errors.As(err, &fe) || !errors.Is(err, fault.ErrChecksum) || fe.File != "f" || fe.Offset < 0 || fe.Offset > int64(len(b)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x10
		refused(fmt.Sprint("byte ", i), c)
		refused(fmt.Sprint("cut to ", i), b[:i])
	}
	refused("another key", bytes.Replace(b, []byte("crc32"), []byte("crc33"), 1))
	refused("something behind", append(bytes.Clone(b), 'x'))
	refused("nothing", nil)
}

// TestManifestVersion tests another version, and content that is not a manifest.
func TestManifestVersion(t *testing.T) {
	for v, class := range map[any]error{
		&listed{Version: 2}: fault.ErrVersion,
		&listed{Version: 4}: fault.ErrVersion,
		"text":              fault.ErrCorrupt,
	} {
		b := need(manifests.Encode(v))
		if _, err := decodeManifest(b); !errors.Is(err, class) {
			t.Errorf("%s: %v, want %v", b, err, class)
		}
	}
	var fe *fault.FormatError
	b := need(manifests.Encode(&listed{Version: 2}))
	if _, err := decodeManifest(b); !errors.As(err, &fe) || fe.Found != "2" || fe.Wanted != "3" {
		t.Errorf("%+v, want what was found and wanted apart", fe)
	}
}

// TestManifestTwice: a program that knows only manifests without a copy can read the first line. A flipped bit or damage of
// one copy loses no content and is reported. A manifest that a crash has cut off is not taken for complete content.
func TestManifestTwice(t *testing.T) {
	twice := manifests
	twice.Twice = true
	const line = `{"v":3,"names":["a","b"]}`
	once := need(manifests.Encode(&listed{3, []string{"a", "b"}}))
	b, err := twice.Encode(&listed{3, []string{"a", "b"}})
	if want := fmt.Sprintf("%s\n{\"crc32\":\"%08[2]x\",\"copy\":%[1]s,\"copy_crc32\":\"%08[2]x\"}\n", line, crc32.ChecksumIEEE([]byte(line+"\n"))); err != nil || string(b) != want {
		t.Fatalf("%q, want %q, %v", b, want, err)
	}
	read := func(b []byte) (n int, flaw, err error) {
		var c listed
		if n, flaw, err = twice.DecodeFirst(b, "f", 7, &c, &c.Version); err == nil && fmt.Sprint(c) != "{3 [a b]}" {
			t.Fatalf("%q: %v", b, c)
		}
		return n, flaw, err
	}
	for _, good := range [][]byte{once, b} {
		for _, behind := range [][]byte{nil, good} {
			if n, flaw, err := read(append(bytes.Clone(good), behind...)); n != len(good) || flaw != nil || err != nil {
				t.Fatalf("%d of %d bytes, %v, %v", n, len(good), flaw, err)
			}
			for at := range good {
				for bit := range 8 {
					c := append(bytes.Clone(good), behind...)
					c[at] ^= 1 << bit
					n, flaw, err := read(c)
					if err == nil && (n != len(good) || !errors.Is(flaw, fault.ErrChecksum)) || err != nil && (len(good) == len(b) || !errors.Is(err, fault.ErrChecksum)) {
						t.Fatalf("bit %d of byte %d: %d bytes, %v, %v", bit, at, n, flaw, err)
					}
					if err != nil && twice.Torn(c, 7) {
						t.Fatalf("bit %d of byte %d: taken for a crash", bit, at)
					}
				}
			}
		}
		for n := range good {
			zeros := append(bytes.Clone(good[:n]), make([]byte, len(good)-n)...)
			if !twice.Torn(good[:n], 7) || !twice.Torn(zeros, 7) {
				t.Fatalf("cut at %d: not taken for a crash", n)
			}
			if _, _, err := read(good[:n]); err == nil {
				t.Fatalf("cut at %d: read", n)
			}
		}
	}
	half := len(line) + copyAt
	for from := range half {
		c := bytes.Clone(b)
		for at := from; at < half; at++ {
			c[at] ^= 0x55
		}
		if _, flaw, err := read(c); flaw == nil || err != nil {
			t.Fatalf("the first copy from byte %d on: %v, %v", from, flaw, err)
		}
	}
	block := make([]byte, 3*sector)
	for i := range block {
		block[i] = 'x'
	}
	clear(block[sector-7 : 2*sector-7])
	if !twice.Torn(block, 7) || twice.Torn(block, 8) {
		t.Error("a block of zeros that was never written, and one that is none")
	}
}
