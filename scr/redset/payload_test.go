package redset

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// The payload must have the length that the header specifies, and each part must have the checksum
// of its bytes.
func TestReadPayload(t *testing.T) {
	for _, o := range []Options{
		{Scheme: Single}, {Scheme: Partner, SetSize: 4}, {Scheme: Partner, SetSize: 4, Replicas: 2}, {Scheme: XOR, SetSize: 4}, {Scheme: RS, SetSize: 4, K: 2},
		{Scheme: XOR, SetSize: 4, Generation: GenA}, {Scheme: XOR, SetSize: 4, Generation: GenB},
	} {
		cl := newCluster(t, o, [][]int{{100, 0, 33}, {70}, {}, {1, 200}})
		must(t, cl.encode("shared", cl.own))
		for r := range 4 {
			prefix := fmt.Sprintf("n%d/rs.", r)
			dir, err := cl.fs.ReadDir(path.Dir(prefix))
			must(t, err)
			payloads := 0
			for _, e := range dir {
				name := path.Join(path.Dir(prefix), e.Name())
				if e.Name()[0] == 'f' { // user file
					continue
				}
				p, err := ReadPayload(cl.fs, prefix, name)
				if err != nil {
					t.Fatalf("%+v: %v", o, err)
				}
				b, err := vfs.ReadFile(cl.fs, name, 1<<20)
				must(t, err)
				if p.Offset+p.Length != int64(len(b)) {
					t.Errorf("%+v: %s: %d bytes after the %d of the header, there are %d", o, name, p.Length, p.Offset, len(b))
				}
				if nameDesc.MatchString(e.Name()[len("rs."):]) || strings.HasSuffix(name, sumSuffix) {
					if p.Length != 0 {
						t.Errorf("%s has a payload of %d bytes", name, p.Length)
					}
					continue
				}
				payloads++
				at := p.Offset
				for _, x := range p.Parts {
					if want := crc32.ChecksumIEEE(b[x.Offset : x.Offset+x.Length]); x.Offset != at || !x.HasCRC || x.CRC != want {
						t.Errorf("%+v: %s: %+v, want offset %d and CRC-32 %#x", o, name, x, at, want)
					}
					at += x.Length
				}
				if at != p.Offset+p.Length {
					t.Errorf("%+v: %s: parts end at %d, the payload at %d", o, name, at, p.Offset+p.Length)
				}
			}
			if payloads != 1 {
				t.Errorf("%+v: %d redundancy files of rank %d, want one", o, payloads, r)
			}
		}
	}
}

// Checksums are used only with the header for which they were made.
func TestReadPayloadSums(t *testing.T) {
	cl := newCluster(t, Options{Scheme: RS, SetSize: 4, K: 2}, [][]int{{100}, {70}, {5}, {200}})
	must(t, cl.encode("shared", cl.own))
	const prefix, name, sums = "n1/rs.", "n1/rs.1.rs.grp_1_of_1.mem_2_of_4.redset", "n1/rs.1.redsum"
	known := func() (n int) {
		t.Helper()
		p, err := ReadPayload(cl.fs, prefix, name)
		if err != nil || len(p.Parts) != 2 {
			t.Fatal(p, err)
		}
		for _, x := range p.Parts {
			if x.HasCRC {
				n++
			}
		}
		return n
	}
	own, err := vfs.ReadFile(cl.fs, sums, 1<<20)
	must(t, err)
	if n := known(); n != 2 {
		t.Errorf("%d checksums, want 2", n)
	}
	must(t, cl.fs.Remove(sums))
	if n := known(); n != 0 {
		t.Errorf("%d checksums of a file that is not there", n)
	}
	// Try checksums of an earlier encode.
	replace(t, cl.fs, "n1/f0", make([]byte, 71))
	must(t, cl.encode("shared", cl.own))
	replace(t, cl.fs, sums, own)
	if n := known(); n != 0 {
		t.Errorf("%d checksums that are of another header", n)
	}
}

// A file must be rejected if its name is unknown or if the header contradicts the name.
func TestReadPayloadBad(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, [][]int{{100}, {70}, {5}, {200}})
	must(t, cl.encode("shared", cl.own))
	const name = "n1/rs.1.xor.grp_1_of_1.mem_2_of_4.redset"
	b, err := vfs.ReadFile(cl.fs, name, 1<<20)
	must(t, err)
	for _, bad := range []string{"n1/rs.1.xor.grp_1_of_1.mem_5_of_4.redset", "n1/rs.1.xor.grp_1_of_1.mem_99999999999999999999_of_4.redset",
		"n1/rs.1.xor.grp_1_of_1.mem_3_of_4.redset", "n1/rs.1.rs.grp_1_of_1.mem_2_of_4.redset"} {
		must(t, vfs.WriteFile(cl.fs, bad, b))
		p, err := ReadPayload(cl.fs, "n1/rs.", bad)
		var fe *fault.FormatError
		if !errors.As(err, &fe) || !errors.Is(err, fault.ErrCorrupt) || fe.File != bad {
			t.Errorf("%s: %+v, %v", bad, p, err)
		}
	}
	if _, err := ReadPayload(cl.fs, "n1/rs.", "n1/rs.9.redset"); err == nil {
		t.Error("a file that is not there")
	}
}
