package ffformat

import "encoding/hex"

// ParityBlock returns the file block at the end of a parity file of level 3. f is the checkpoint file of the same rank, size is the
// number of parity bytes, and sum is their MD5.
func (f *File) ParityBlock(size int64, sum [16]byte) ([]byte, error) {
	p := &File{Name: f.Name, Layout: f.Layout, Hash: MD5, Parity: true, Size: size + f.Layout.fbSize(),
		FB: FileBlock{CkptID: f.FB.CkptID, Timestamp: f.FB.Timestamp, CkptSize: f.FB.FileSize, FileSize: size, MaxFs: size, PtFs: -1}}
	if err := p.seal(hex.EncodeToString(sum[:])); err != nil {
		return nil, err
	}
	pieces, err := p.encode()
	if err != nil {
		return nil, err
	}
	return pieces[0].Data, nil
}
