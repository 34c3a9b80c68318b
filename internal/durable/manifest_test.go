package durable

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"blobio/internal/fault"
)

type listed struct {
	Version int      `json:"v"`
	Names   []string `json:"names"`
}

var manifests = Manifest{Pkg: "pkg", Field: "v", Version: 3}

func decodeManifest(b []byte) (*listed, error) {
	var c listed
	return &c, manifests.Decode(b, "f", &c, &c.Version)
}

// TestManifest: the bytes, and that no byte may change or be lost, none be added, without an error that says where.
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
		if _, err := decodeManifest(b); !errors.As(err, &fe) || !errors.Is(err, fault.ErrChecksum) || fe.Pkg != "pkg" || fe.File != "f" || fe.Offset < 0 || fe.Offset > int64(len(b)) {
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

// TestManifestVersion: another version, and content that is none.
func TestManifestVersion(t *testing.T) {
	for v, class := range map[any]error{
		&listed{Version: 2}: fault.ErrVersion,
		&listed{Version: 4}: fault.ErrVersion,
		"text":              fault.ErrCorrupt,
	} {
		b, err := manifests.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(b); !errors.Is(err, class) {
			t.Errorf("%s: %v, want %v", b, err, class)
		}
	}
	var fe *fault.FormatError
	b, err := manifests.Encode(&listed{Version: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeManifest(b); !errors.As(err, &fe) || fe.Found != "2" || fe.Wanted != "3" {
		t.Errorf("%+v, want what was found and wanted apart", fe)
	}
}
