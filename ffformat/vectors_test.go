package ffformat

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
)

// manifestEntry is the output of an independent decoder for a file of the vectors.
type manifestEntry struct {
	Kind   string
	Layout string
	Size   int64
	Ckpt   int32
	FB     *struct {
		Checksum, MyHash                                         string
		CkptID                                                   int32 `json:"ckptId"`
		CkptSize, DataSize, MetaSize, Fs, MaxFs, PtFs, Timestamp int64
	}
	Blocks []struct {
		At, Dbsize int64
		Numvars    int
		Vars       []struct {
			ID, Idx, Containerid                 int32
			Chunksize, Containersize, Dptr, Fptr int64
			HasCkpt                              int
			Hascontent                           bool
			Hash                                 string
		}
	}
	ChecksumRules map[string]bool
}

// vectors reads the manifest of the vectors. It names layouts by the version of FTI.
func vectors(t testing.TB) (dir string, m map[string]*manifestEntry) {
	t.Helper()
	dir = testfiles.Dir(t, "fti")
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	must(t, err)
	must(t, json.Unmarshal(b, &m))
	if len(m) < 200 {
		t.Fatalf("%d files in the manifest", len(m))
	}
	return dir, m
}

var manifestLayouts = map[string]Layout{"v11": LayoutA, "v12": LayoutB, "v13": LayoutC, "v14": LayoutD, "v15": LayoutE, "head": LayoutF}

func readVector(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	must(t, err)
	return b
}

func decodeBytes(b []byte, name string, o *Options) (*File, error) {
	return Decode(bytes.NewReader(b), int64(len(b)), name, o)
}

// TestVectorFields: every field of every record of every file equals the output of the independent decoder, and each decoded file
// encodes to the same bytes. The computed myHash and checksums have the expected values.
func TestVectorFields(t *testing.T) {
	dir, m := vectors(t)
	for name, want := range m {
		b := readVector(t, dir, name)
		f, err := decodeBytes(b, name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Layout != manifestLayouts[want.Layout] || f.Hash != MD5 || f.Size != want.Size || f.Parity != (want.Kind == "RSed") || f.Damaged != nil {
			t.Errorf("%s: layout %v hash %v size %d parity %v damaged %v", name, f.Layout, f.Hash, f.Size, f.Parity, f.Damaged)
		}
		checkFields(t, name, f, want)
		checkEncode(t, name, f, b)
		checkRules(t, name, f, want)
	}
}

func checkFields(t *testing.T, name string, f *File, want *manifestEntry) {
	t.Helper()
	if want.FB == nil {
		return
	}
	g, w := &f.FB, want.FB
	if g.Checksum != w.Checksum || hex.EncodeToString(g.MyHash[:]) != w.MyHash || g.CkptID != w.CkptID || g.CkptSize != w.CkptSize ||
		g.DataSize != w.DataSize || g.MetaSize != w.MetaSize || g.FileSize != w.Fs || g.MaxFs != w.MaxFs || g.PtFs != w.PtFs || g.Timestamp != w.Timestamp {
		t.Errorf("%s: FB %+v, want %+v", name, g, w)
	}
	if len(f.Blocks) != len(want.Blocks) {
		t.Errorf("%s: %d blocks, want %d", name, len(f.Blocks), len(want.Blocks))
		return
	}
	for i, wb := range want.Blocks {
		gb := f.Blocks[i]
		if gb.Offset != wb.At || gb.Size != wb.Dbsize || len(gb.Containers) != wb.Numvars {
			t.Errorf("%s: block %d: %d %d %d, want %+v", name, i, gb.Offset, gb.Size, len(gb.Containers), wb)
			continue
		}
		for j, wv := range wb.Vars {
			hash, err := hex.DecodeString(wv.Hash)
			must(t, err)
			wc := Container{ID: wv.ID, Idx: wv.Idx, ContainerID: wv.Containerid, HasContent: wv.Hascontent, HasCkpt: wv.HasCkpt == 1,
				Dptr: wv.Dptr, Fptr: wv.Fptr, ChunkSize: wv.Chunksize, ContainerSize: wv.Containersize, Hash: digest(hash)}
			gc := gb.Containers[j]
			gc.Pad = [3]byte{} // garbage in layout A
			if gc != wc {
				t.Errorf("%s: block %d container %d: %+v, want %+v", name, i, j, gc, wc)
			}
		}
	}
}

func checkEncode(t *testing.T, name string, f *File, b []byte) {
	t.Helper()
	pieces, err := f.encode()
	if err != nil {
		t.Errorf("%s: Encode: %v", name, err)
		return
	}
	var n int64
	for _, p := range pieces {
		if p.Off < 0 || p.Off+int64(len(p.Data)) > int64(len(b)) || !bytes.Equal(p.Data, b[p.Off:p.Off+int64(len(p.Data))]) {
			t.Errorf("%s: Encode: other bytes at %d", name, p.Off)
		}
		n += int64(len(p.Data))
	}
	if !f.Parity && n != f.metaBytes() {
		t.Errorf("%s: Encode: %d bytes, want %d", name, n, f.metaBytes())
	}
}

func checkRules(t *testing.T, name string, f *File, want *manifestEntry) {
	t.Helper()
	if h := f.FB.computeHash(f.Layout); h != f.FB.MyHash {
		t.Errorf("%s: computeHash %x, want %x", name, h, f.FB.MyHash)
	}
	for rule, sum := range map[string]string{"cs_all_stored_hashes": writerChecksum(f.Blocks), "cs_content_only": readerChecksum(f.Blocks)} {
		if want, ok := want.ChecksumRules[rule]; ok && want != (sum == f.FB.Checksum) {
			t.Errorf("%s: %s fits: %v, want %v", name, rule, !want, want)
		}
	}
}

// TestVectorLayoutGiven: if a layout is given, Decode succeeds only for the right layout.
func TestVectorLayoutGiven(t *testing.T) {
	dir, m := vectors(t)
	for name, want := range m {
		if !strings.Contains(name, "/l1/cp6") {
			continue
		}
		b := readVector(t, dir, name)
		for l := LayoutA; l <= LayoutF; l++ {
			_, err := decodeBytes(b, name, &Options{Layout: l})
			if ok := l == manifestLayouts[want.Layout]; ok != (err == nil) {
				t.Errorf("%s as %v: %v", name, l, err)
			}
		}
	}
}
