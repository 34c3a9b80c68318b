package subfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"

	"blobio/internal/base/fault"
)

func sealed(line string) []byte {
	b := append([]byte(line), '\n')
	return fmt.Appendf(b, "{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE(b))
}

func goodManifest() *Manifest {
	return &Manifest{Prepared: true, ID: "00112233445566778899aabbccddeeff", Layout: "process-centric", Base: "F_h0.h5", Records: 3, Ranks: 4,
		Maps: []string{"0123456789abcdef"}, Sets: []SetInfo{
			{Base: "F_h0.h5", Records: 2, Subfiles: []Subfile{{Size: 9000, HeaderOff: 2048, HeaderLen: 800, HeaderCRC: 0xdeadbeef, Blobs: []int64{4096, 5000, 9000}, Extents: CRCs{1, 2, math.MaxUint32}}}},
			{Base: "F_h0.h5+1", First: 2, Records: 1, Subfiles: []Subfile{{Size: 100, HeaderLen: 100, Extents: CRCs{}}}}}}
}

// FuzzManifest: Encode preserves the meaning of any manifest that Decode accepts. Decode refuses all other input with a typed
// error. The input is tried as a file, and as a first line with a correct checksum.
func FuzzManifest(f *testing.F) {
	b := need(goodManifest().Encode())
	f.Add(b)
	f.Add(b[:len(b)-20])
	f.Add(b[:bytes.IndexByte(b, '\n')])
	f.Add([]byte(`{"blobio_manifest":1,"records":9223372036854775807}`))
	f.Add([]byte(`{"blobio_manifest":1,"layout":"variable-centric","base":"a","ranks":1,"sets":[{"base":"a","subfiles":[{"size":-1,"extents":"0"}]}]}`))
	f.Add([]byte(`{"blobio_manifest":1,"layout":"variable-centric","base":"a","ranks":1,"sets":[{"base":"a","subfiles":[{"extents":null,"header_crc":"00000000"}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, sealed(string(b))} {
			m, err := Decode(in, "m")
			if err != nil {
				var fe *fault.FormatError
				if !errors.As(err, &fe) || fe.Err == nil || fe.Field == "" || fe.File != "m" || fe.Offset > int64(len(in)) {
					t.Fatalf("not a typed error: %v", err)
				}
				continue
			}
			one := need(m.Encode())
			again, err := Decode(one, "m")
			if err != nil {
				t.Fatalf("%q is not read back: %v", one, err)
			}
			two, err := again.Encode()
			if err != nil || !bytes.Equal(one, two) {
				t.Fatalf("%q becomes %q (%v)", one, two, err)
			}
		}
	})
}

func TestManifestRoundTrip(t *testing.T) {
	m := goodManifest()
	b := need(m.Encode())
	got := need(Decode(b, "m"))
	if !reflect.DeepEqual(got, m) {
		t.Errorf("%+v becomes %+v", m, got)
	}
}

func TestManifestRefuses(t *testing.T) {
	for want, change := range map[string]func(m *Manifest){
		`m: base: "a/b", want a file name without directory (corrupt)`:                                              func(m *Manifest) { m.Base = "a/b" },
		`m: layout: "", want variable-centric or process-centric (corrupt)`:                                         func(m *Manifest) { m.Layout = "" },
		`m: ranks: 0, want at least 1 (corrupt)`:                                                                    func(m *Manifest) { m.Ranks = 0 },
		`m: sets: none, want at least one (corrupt)`:                                                                func(m *Manifest) { m.Sets = nil },
		`m: sets[1].base: "..", want a file name without directory (corrupt)`:                                       func(m *Manifest) { m.Sets[1].Base = ".." },
		`m: sets[1].base: "F_h0.h5", want "F_h0.h5+1" (corrupt)`:                                                    func(m *Manifest) { m.Sets[1].Base = "F_h0.h5" },
		`m: sets[1].first: 3, want 2, the number of previous records (corrupt)`:                                     func(m *Manifest) { m.Sets[1].First = 3 },
		`m: sets[0].records: -2, want 0..4611686018427387904 (corrupt)`:                                             func(m *Manifest) { m.Sets[0].Records = -2 },
		`m: records: 4 records, but the sets hold 3 (corrupt)`:                                                      func(m *Manifest) { m.Records = 4 },
		`m: sets[0].subfiles: none, want at least one (corrupt)`:                                                    func(m *Manifest) { m.Sets[0].Subfiles = nil },
		`m: sets[0].subfiles: 5 subfiles for 4 ranks, want at most one per rank (corrupt)`:                          func(m *Manifest) { m.Sets[0].Subfiles = make([]Subfile, 5) },
		`m: sets[0].subfiles[0]: header of 800 bytes at offset 8201 does not fit in a file of 9000 bytes (corrupt)`: func(m *Manifest) { m.Sets[0].Subfiles[0].HeaderOff = 8201 },
		`m: sets[0].subfiles[0].blobs[1]: 4095, want ascending offsets up to 9000 (corrupt)`:                        func(m *Manifest) { m.Sets[0].Subfiles[0].Blobs[1] = 4095 },
		`m: sets[0].subfiles[0].blobs[2]: 9001, want ascending offsets up to 9000 (corrupt)`:                        func(m *Manifest) { m.Sets[0].Subfiles[0].Blobs[2] = 9001 },
		`m: sets[0].added: 1 variables, want none in the first set (corrupt)`:                                       func(m *Manifest) { m.Sets[0].Added = []string{"T"} },
		`m: sets[0].subfiles[0].blobs: 3 offsets, want none in a variable-centric dataset (corrupt)`:                func(m *Manifest) { m.Layout = "variable-centric" },
	} {
		m := goodManifest()
		change(m)
		b := need(m.Encode())
		if _, err := Decode(b, "m"); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	good := need(goodManifest().Encode())
	line := string(good[:bytes.IndexByte(good, '\n')])
	for _, v := range []int{plainVersion - 1, addedVersion + 1} {
		other := strings.Replace(line, fmt.Sprintf(`"blobio_manifest":%d`, plainVersion), fmt.Sprintf(`"blobio_manifest":%d`, v), 1)
		if _, err := Decode(sealed(other), "m"); other == line || !errors.Is(err, fault.ErrVersion) {
			t.Errorf("version %d: %v", v, err)
		}
	}
	for n := range len(good) {
		if _, err := Decode(good[:n], "m"); !errors.Is(err, fault.ErrChecksum) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for k := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[k] ^= 1 << bit
			m, err := Decode(b, "m")
			if err != nil || m.flaw == nil {
				t.Fatalf("bit %d of byte %d: %v", bit, k, err)
			}
			if m.Version, m.flaw = 0, nil; !reflect.DeepEqual(m, goodManifest()) {
				t.Fatalf("bit %d of byte %d goes unseen", bit, k)
			}
		}
	}
}
