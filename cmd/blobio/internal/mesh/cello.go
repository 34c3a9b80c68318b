package mesh

import (
	"context"
	"os"
	"path/filepath"

	"blobio/amr/blocks"
	"blobio/amr/cello"
)

// openCello opens a checkpoint directory.
func openCello(ctx context.Context, dir string, t amrTrust) (*amrMesh, error) {
	k, err := cello.Open(ctx, dir, &cello.OpenOptions{AcceptScrambled: t.scrambled, NoVerify: t.noVerify})
	if err != nil {
		return nil, err
	}
	m := &amrMesh{path: dir, form: formCello, meta: k.Meta(), src: blocks.FromCello(k), cello: k}
	for _, name := range k.Files() {
		f := amrFile{name: name + ".h5"}
		if info, err := os.Stat(filepath.Join(dir, f.name)); err == nil {
			f.bytes = info.Size()
		}
		m.files = append(m.files, f)
	}
	for _, b := range k.Blocks() {
		m.blocks = append(m.blocks, amrBlock{b.Index, b.File, b.Leaf, b.Bytes, b.Cost})
	}
	return m, nil
}
