package blob

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/internal/base/crashtest"
	"blobio/internal/subfile"
)

func TestCorpusManifest(t *testing.T) {
	rnd := rand.New(rand.NewSource(6))
	for _, lay := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		s := newSample(t, lay, 2, true)
		name := subfile.ManifestName(sampleBase)
		file := s.files[name]
		// The manifest's own checksum must reveal any truncation or flipped bit.
		for n := 0; n < len(file); n += times(29, 1) {
			o := s.run(t, faulty{name: fmt.Sprintf("manifest of %d bytes", n), files: s.with(name, file[:n]), at: -1})
			if len(o.errs) == 0 || len(o.faults) == 0 || o.faults[0].File != name {
				t.Errorf("%s: manifest cut at %d: %v, %v", s.name, n, o.errs, o.faults)
			}
			if !long && rnd.Intn(3) > 0 {
				continue
			}
			for _, bit := range bitsOf(rnd) {
				o := s.run(t, faulty{name: fmt.Sprintf("manifest: bit %d of byte %d", bit, n), files: s.with(name, flipped(file, int64(n), bit)), at: -1})
				if (len(o.errs) == 0 || len(o.faults) == 0) && len(o.wrong) > 0 {
					t.Errorf("%s: manifest bit %d of byte %d: %v", s.name, bit, n, o.wrong)
				}
			}
		}
		// Each manifest has a valid checksum and false content.
		for what, change := range crashtest.SomeOf(t, 10, map[string]func(m *subfile.Manifest){
			"layout":           func(m *subfile.Manifest) { m.Layout = (1 - lay).String() },
			"unknown layout":   func(m *subfile.Manifest) { m.Layout = "round" },
			"codec":            func(m *subfile.Manifest) { m.Codec = "zstd" },
			"records":          func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 3, 3 },
			"records apart":    func(m *subfile.Manifest) { m.Records = 3 },
			"fewer records":    func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 1, 1 },
			"absurd records":   func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = 1<<62, 1<<62 },
			"most records":     func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = math.MaxInt64, math.MaxInt64 },
			"negative records": func(m *subfile.Manifest) { m.Records, m.Sets[0].Records = -1, -1 },
			"ranks":            func(m *subfile.Manifest) { m.Ranks++ },
			"no ranks":         func(m *subfile.Manifest) { m.Ranks = 0 },
			"no sets":          func(m *subfile.Manifest) { m.Sets = nil },
			"no subfiles":      func(m *subfile.Manifest) { m.Sets[0].Subfiles = nil },
			"one subfile":      func(m *subfile.Manifest) { m.Sets[0].Subfiles = m.Sets[0].Subfiles[:1] },
			"one subfile more": func(m *subfile.Manifest) { m.Sets[0].Subfiles = append(m.Sets[0].Subfiles, m.Sets[0].Subfiles[1]) },
			"the set twice":    func(m *subfile.Manifest) { x := m.Sets[0]; x.First = 2; m.Sets = append(m.Sets, x); m.Records = 4 },
			"a set of nothing": func(m *subfile.Manifest) { x := m.Sets[0]; x.First, x.Records = 2, 0; m.Sets = append(m.Sets, x) },
			"many sets": func(m *subfile.Manifest) {
				for range 2000 {
					m.Sets = append(m.Sets, subfile.SetInfo{Base: "x", First: 2, Subfiles: m.Sets[0].Subfiles})
				}
			},
			"other set":         func(m *subfile.Manifest) { m.Sets[0].Base += "+1" },
			"base elsewhere":    func(m *subfile.Manifest) { m.Sets[0].Base = "../d.nc" },
			"base is empty":     func(m *subfile.Manifest) { m.Base = "" },
			"size":              func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Size++ },
			"smaller size":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Size-- },
			"absurd size":       func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Size = math.MaxInt64 },
			"negative size":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Size = -1 },
			"header length":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderLen-- },
			"absurd header":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderLen = math.MaxInt64 },
			"header offset":     func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].HeaderOff++ },
			"header checksum":   func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].HeaderCRC ^= 1 },
			"extent checksum":   func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Extents[3] ^= 1 << 31 },
			"an extent less":    func(m *subfile.Manifest) { e := &m.Sets[0].Subfiles[1].Extents; *e = (*e)[:len(*e)-1] },
			"an extent more":    func(m *subfile.Manifest) { e := &m.Sets[0].Subfiles[1].Extents; *e = append(*e, 0) },
			"no extents":        func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Extents = nil },
			"absurd extents":    func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Extents = make(subfile.CRCs, 1<<18) },
			"blobs":             func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{1, 2, 3} },
			"absurd blobs":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = make([]int64, 1<<16) },
			"blobs beyond":      func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{0, math.MaxInt64} },
			"negative blobs":    func(m *subfile.Manifest) { m.Sets[0].Subfiles[0].Blobs = []int64{-5} },
			"an earlier blob":   func(m *subfile.Manifest) { b := firstBlob(m); *b-- },
			"a later blob":      func(m *subfile.Manifest) { b := firstBlob(m); *b++ },
			"map prints absent": func(m *subfile.Manifest) { m.Maps = nil },
			"map prints":        func(m *subfile.Manifest) { m.Maps[1] = "0" },
		}) {
			m := need(subfile.Decode(file, name))
			change(m)
			b := need(m.Encode())
			for _, where := range []string{name, subfile.NextName(sampleBase)} {
				files := s.with(name, nil)
				files[where] = b
				o := s.run(t, faulty{name: where + ": " + what, files: files, at: -1})
				if len(o.faults) == 0 {
					t.Errorf("%s: %s: %s: no finding; %v", s.name, where, what, o.findings)
				}
			}
		}
		b := []byte(strings.Replace(string(file), `"blobio_manifest":1`, `"blobio_manifest":5`, 1))
		line := slices.Index(b, '\n') + 1
		b = append(b[:line:line], fmt.Sprintf("{\"crc32\":\"%08x\"}\n", crc32.ChecksumIEEE(b[:line]))...)
		o := s.run(t, faulty{name: "version 5", files: s.with(name, b), at: -1})
		if len(o.errs) != 1 || !errors.Is(o.errs[0], dataset.ErrVersion) {
			t.Errorf("version 5: %v", o.errs)
		}
		// With a torn next manifest, the old manifest is in force, and no data are lost.
		o = s.run(t, faulty{name: "torn next", files: s.with(subfile.NextName(sampleBase), file[:100]), at: -1})
		if len(o.errs) > 0 || len(o.faults) > 0 || len(o.findings) == 0 {
			t.Errorf("torn next: %v %v", o.errs, o.findings)
		}
		files := s.with(name, nil)
		files[subfile.NextName(sampleBase)] = file[:100]
		o = s.run(t, faulty{name: "only a torn next", files: files, at: -1})
		if len(o.errs) != 1 || !errors.Is(o.errs[0], dataset.ErrNotCommitted) {
			t.Errorf("only a torn next: %v", o.errs)
		}
	}
}

// firstBlob returns the first blob offset in the manifest. It adds a list of offsets if the layout has none.
func firstBlob(m *subfile.Manifest) *int64 {
	sf := &m.Sets[0].Subfiles[0]
	if len(sf.Blobs) == 0 {
		sf.Blobs = []int64{4096}
	}
	return &sf.Blobs[0]
}
