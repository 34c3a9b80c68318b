package blob

import (
	"math"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/internal/subfile"
)

// TestMessages checks the error messages of typical faults: each has the position, the field, and the found and required
// values. The test uses the first read error or, if there is none, the first finding.
func TestMessages(t *testing.T) {
	vc, pc := newSample(t, dataset.VariableCentric, 2, false), newSample(t, dataset.ProcessCentric, 2, false)
	sealed := newSample(t, dataset.VariableCentric, 2, true)
	manifest := sealed.files[subfile.ManifestName(sampleBase)]
	field := func(s *sample, i int, kind, of string, v uint64) map[string][]byte {
		base, fields := s.header(t, s.subfile(i))
		for _, f := range fields {
			if f.kind == kind && f.of == of {
				return s.patch(s.subfile(i), base+f.off, s.number(f.n, v))
			}
		}
		t.Fatalf("no %s %q", kind, of)
		return nil
	}
	entry := func(s *sample, d, m int, k int64, n int, v uint64) map[string][]byte {
		pl, tab := s.place(t, s.subfile(0))
		off, _ := pl.MapPiece(d, m, tab, 0)
		return s.patch(s.subfile(0), off+k, s.number(n, v))
	}
	wrong := func(change func(m *subfile.Manifest)) map[string][]byte {
		m := need(subfile.Decode(manifest, "m"))
		change(m)
		b := need(m.Encode())
		return sealed.with(subfile.ManifestName(sampleBase), b)
	}
	other := otherSample(t, dataset.VariableCentric, 3, 2, func(x *toy) { x.swapTwo() })
	pl, tab := sealed.place(t, sealed.subfile(0))
	temp, _ := sealed.schema.VarID("T")
	data, _ := pl.Piece(temp, 1, tab, 0)
	for _, c := range []struct {
		name  string
		s     *sample
		files map[string][]byte
		want  string
	}{
		{"empty", vc, vc.with("d.nc.0000", []byte{}),
			`d.nc.0000: 0x0: magic: the file is empty (truncated)`},
		{"text", vc, vc.with("d.nc.0000", []byte("netcdf d {")),
			`d.nc.0000: 0x0: magic: "netcdf d", want a CDF or HDF5 file (corrupt)`},
		{"foreign HDF5", vc, vc.with("d.nc.0000", foreignHDF5(t, "T", false)),
			`d.nc.0000: root group: no header_blob and no data_blob, so the HDF5 file is not a process-centric blob file (corrupt)`},
		{"a directory", vc, dirInstead(vc, "d.nc.0000"),
			`d.nc.0000: file: found a directory, want a CDF or HDF5 file (not this format)`},
		{"missing", vc, vc.with("d.nc.0001", nil),
			`d.nc: subfiles: 1 of 2 are missing, the first is d.nc.0001 (missing)`},
		{"header cut", vc, vc.with("d.nc.0000", vc.files["d.nc.0000"][:1000]),
			`d.nc.0000: 0x1b8: var_list nelems: 18 elements, but only 552 bytes are left in the file (truncated)`},
		{"data cut", vc, vc.with("d.nc.0000", vc.files["d.nc.0000"][:7000]),
			`d.nc.0000: 0x1b58: variable "T": the file ends after 312 of 700 bytes (truncated)`},
		{"dimensions", vc, field(vc, 0, "nelems", "dim_list", 1<<40),
			`d.nc.0000: 0x10: dim_list nelems: 1099511627776 elements, but only 7800 bytes are left in the file (truncated)`},
		{"dimension id", vc, field(vc, 0, "dimid", "scale", 90),
			`d.nc.0000: 0xa44: var "scale" dimid[0]: 90, want < 9 (corrupt)`},
		{"type", vc, field(vc, 0, "variable type", "T", 99),
			`d.nc.0000: 0xb38: var "T" type: 99, want 1 to 11 in CDF-5 (corrupt)`},
		{"begin", vc, field(vc, 0, "begin", "T", 8),
			`d.nc.0000: 0xb44: var "T" begin: 8, want >= 3372, the end of the header (corrupt)`},
		{"decomposition_ID", vc, field(vc, 0, "attribute value", "T:decomposition_ID", 3),
			`d.nc.0000: 0xac0: variable "T" attribute decomposition_ID: [3], want one of 1..2 (corrupt)`},
		{"num_decompositions", pc, field(pc, 0, "attribute value", "num_decompositions", 40),
			`d.nc.0000: 0x950: attribute num_decompositions: 40 decompositions need 200 variables, the file has 18 (corrupt)`},
		{"num_subfiles", pc, field(pc, 0, "attribute value", "num_subfiles", 4),
			`d.nc.0000: 0x974: attribute num_subfiles: 4, want 1..3 (global_nprocs) (corrupt)`},
		{"numrecs", pc, field(pc, 1, "numrecs", "", 9),
			`d.nc.0001: 0x800: header: this file and d.nc.0000 belong to different datasets: 9 records, but the other file has 2 (corrupt)`},
		{"nreqs", vc, entry(vc, 1, layout.MapNreqs, 0, 4, 900),
			`d.nc.0000: 0xe74: D2.nreqs[0]: 900, want 0..90 (D2.max_nreqs) (corrupt)`},
		{"nreqs", pc, entry(pc, 1, layout.MapNreqs, 0, 4, 900),
			`d.nc.0000: 0x20a4: D2.nreqs[0]: 900, want 0..90 (D2.max_nreqs) (corrupt)`},
		{"blob_start", vc, entry(vc, 0, layout.MapStart, 0, 8, 900),
			`d.nc.0000: 0xd34: D1.blob_start[0]: 900, want 0, the sum of the previous counts (corrupt)`},
		{"blob_count", pc, entry(pc, 0, layout.MapCount, 0, 8, math.MaxUint64),
			`d.nc.0000: 0x200c: D1.blob_count[0]: -1, want 0..35 (D1.nelems) (corrupt)`},
		{"offset", vc, entry(vc, 1, layout.MapOffsets, 8, 4, 1000),
			`d.nc.0000: 0xea4: D2.offsets[0][2]: 1000, want 0..184 for a request of 1 elements (corrupt)`},
		{"length", pc, entry(pc, 1, layout.MapLengths, 12, 4, math.MaxUint32),
			`d.nc.0000: 0x222c: D2.lengths[0][3]: -1, want 0..185 (corrupt)`},
		{"sum", vc, entry(vc, 0, layout.MapLengths, 0, 4, 2),
			`d.nc.0000: 0xde4: D1.lengths[0]: the lengths sum to 19, but blob_count is 18 (corrupt)`},
		{"another dataset", vc, vc.with("d.nc.0001", other.files["d.nc.0001"]),
			`d.nc.0001: 0x0: header: this file and d.nc.0000 belong to different datasets: variable 4 is "NEVER", but "FLUX" in the other file (corrupt)`},
		{"torn manifest", sealed, sealed.with("d.nc.manifest", manifest[:200]),
			`d.nc.manifest: 0xc8: crc32: no closing checksum, so the manifest is incomplete (checksum mismatch)`},
		{"manifest bit", sealed, sealed.with("d.nc.manifest", flipped(wrong(func(m *subfile.Manifest) { m.ID, m.Writer = "0", "" })["d.nc.manifest"], 100, 0)),
			`error: d.nc.manifest: 0x64: manifest: one copy is damaged from this offset on, but the other copy is intact (checksum mismatch)`},
		{"manifest bit, no copy", sealed, sealed.with("d.nc.manifest", flipped(onceOnly(t, wrong(func(m *subfile.Manifest) { m.ID, m.Writer = "0", "" })["d.nc.manifest"]), 100, 0)),
			`d.nc.manifest: 0x2f2: crc32: checksum is 2ca4dec7, but the file says 4cbea7c0 (checksum mismatch)`},
		{"manifest size", sealed, wrong(func(m *subfile.Manifest) { m.Sets[0].Subfiles[1].Size += 8 }),
			`d.nc.0001: 0xdc4: file: the file has 3524 bytes, but the manifest says 3532 (truncated)`},
		{"manifest codec", sealed, wrong(func(m *subfile.Manifest) { m.Codec = "zstd" }),
			`d.nc.manifest: 0x0: codec: "zstd", want none or "blobio-zstd-1" (unsupported)`},
		{"manifest records", sealed, wrong(func(m *subfile.Manifest) { m.Records = 7 }),
			`d.nc.manifest: records: 7 records, but the sets hold 2 (corrupt)`},
		{"header bit", sealed, field(sealed, 0, "attribute value", "np", 5),
			`d.nc.0000: 0x0: header: checksum is 8fc4d747, but the manifest says 26743fae (checksum mismatch)`},
		{"data bit", sealed, sealed.with("d.nc.0000", flipped(sealed.files["d.nc.0000"], data, 0)),
			`d.nc.0000: 0x1a20: variable "T" record 1: checksum is 2d9f48f6, but the manifest says c040b40f (checksum mismatch)`},
	} {
		o := c.s.look(t, c.name, c.files)
		got := "nothing"
		switch {
		case len(o.errs) > 0:
			got = o.errs[0].Error()
		case len(o.faults) > 0:
			got = o.faults[0].String()
		}
		if got != c.want {
			t.Errorf("%s:\n\tgot  %s\n\twant %s", c.name, got, c.want)
		}
	}
}
