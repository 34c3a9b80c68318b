package ffformat

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"regexp"
	"runtime"
	"strings"
	"sync"

	md5simd "github.com/minio/md5-simd"
	"github.com/zeebo/xxh3"
)

// Minimum and maximum of BlockSize for a Fast file, in bytes.
const (
	minBlockSize = 512
	maxBlockSize = 1 << 20
)

// fastMark is the beginning of the checksum field in a Fast file.
const fastMark = "blobio-xxh3-128 b="

// fastVersion is the end of the checksum field in a Fast file.
const fastVersion = " v01"

// laterFast matches fastVersion and the endings that later versions may use.
var laterFast = regexp.MustCompile(`^ v[0-9]{2}$`)

// fastChecksum returns the checksum field of a Fast file: 32 characters.
func fastChecksum(blockSize int) string { return fmt.Sprintf(fastMark+"%010d"+fastVersion, blockSize) }

// parseFast returns the block size in a checksum field. ok is false if the field does not belong to a Fast file.
func parseFast(checksum string) (blockSize int, ok bool, err error) {
	if !strings.HasPrefix(checksum, fastMark) {
		return 0, false, nil
	}
	if _, err := fmt.Sscanf(checksum[len(fastMark):], "%10d", &blockSize); err != nil || checksum != fastChecksum(blockSize) {
		return 0, true, fmt.Errorf("%q, want %q", checksum, fastMark+"<10 digits> v01")
	}
	if blockSize < minBlockSize || blockSize > maxBlockSize {
		return 0, true, fmt.Errorf("block size %d, want %d to %d", blockSize, minBlockSize, maxBlockSize)
	}
	return blockSize, true, nil
}

func fastBlock(b []byte) digest { return xxh3.Hash128(b).Bytes() }

// fastChunk returns the hash of a Fast file's chunk: the hash of its concatenated block digests.
func fastChunk(digests []byte) digest { return xxh3.Hash128(digests).Bytes() }

// hashFB returns the MyHash of the serialised file block of an MD5 file. The hash covers the fields in another order than the
// file has them, and does not cover ckptId (see FTIFF_GetHashMetaInfo in FTI).
func hashFB(l Layout, b []byte) digest {
	t := &l.table().fb
	h := md5.New()
	h.Write(b[:checksumLen])
	for _, s := range []span{t.timestamp, t.ckptSize, t.metaSize, t.dataSize, t.fs, t.ptFs, t.maxFs} {
		h.Write(s.bytes(b))
	}
	return digest(h.Sum(nil))
}

// hashMeta returns the MyHash of a Fast file. The hash covers all bytes from DataSize to the end of the file, with MyHash and the
// pad set to 0. hashMeta does not change meta.
func hashMeta(meta []byte) digest {
	t := &LayoutF.table().fb
	fb := len(meta) - t.size
	var tail [maxFB]byte
	b := tail[:copy(tail[:], meta[fb:])]
	clear(b[myHashOff : myHashOff+16])
	clear(t.pad.bytes(b))
	h := xxh3.New128()
	h.Write(meta[:fb])
	h.Write(b)
	return h.Sum128().Bytes()
}

// computeHash returns the MyHash of an MD5 file of layout l, computed from the other fields of fb.
func (fb *FileBlock) computeHash(l Layout) digest {
	b := make([]byte, l.fbSize())
	fb.encode(l, b) // encode refuses values that do not fit
	return hashFB(l, b)
}

// readerChecksum returns the checksum that FTI's reader accepts for a file of C0 to F: the MD5 of the hashes of all containers
// with content, in file order.
func readerChecksum(blocks []Block) string { return checksumOf(blocks, false) }

// writerChecksum returns the checksum that FTI writes to a file of C0 to F: the MD5 of the hash fields of all containers. Empty
// containers have stale hashes. FTI from v1.3 on therefore refuses its own files if they have empty containers.
func writerChecksum(blocks []Block) string { return checksumOf(blocks, true) }

func checksumOf(blocks []Block, all bool) string {
	h := md5.New()
	for i := range blocks {
		for j := range blocks[i].Containers {
			if c := &blocks[i].Containers[j]; all || c.HasContent {
				h.Write(c.Hash[:])
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// seal sets the checksum field, then MyHash. The checksum follows the layout's rule; in a Fast file it is fastChecksum.
func (f *File) seal(checksum string) error {
	f.FB.Checksum = checksum
	if f.Hash == MD5 {
		f.FB.MyHash = f.FB.computeHash(f.Layout)
		if !f.vouched() {
			return nil
		}
		sum, err := f.padSum()
		f.FB.Pad[0] = sum
		return err
	}
	meta, err := f.encodeMeta()
	if err != nil {
		return err
	}
	f.FB.MyHash = hashMeta(meta)
	return nil
}

// MetaSum returns the XXH3-128 of all metadata bytes in file order. The metadata include the timestamp, so the sum is different
// for every state of a file.
func (f *File) MetaSum() ([16]byte, error) {
	pieces, err := f.encode()
	if err != nil {
		return digest{}, err
	}
	h := xxh3.New128()
	for _, p := range pieces {
		h.Write(p.Data)
	}
	return h.Sum128().Bytes(), nil
}

// md5Of returns the MD5 of n bytes of r from off on. If r has fewer bytes, it returns io.ErrUnexpectedEOF.
func md5Of(ctx context.Context, r io.ReaderAt, off, n int64) (sum digest, err error) {
	h := md5.New()
	k, err := io.Copy(h, &ctxReader{ctx, io.NewSectionReader(r, off, n)})
	if err == nil && k < n {
		err = io.ErrUnexpectedEOF
	}
	return digest(h.Sum(nil)), err
}

// ctxReader is a reader that stops when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

const (
	// md5Lanes is the number of chunks that one processor hashes in parallel in the lanes of its vector registers.
	md5Lanes = 16
	// minLanes is the minimum number of chunks for which lanes are faster than separate hashes. A single MD5 is slower in a lane.
	minLanes      = 3
	minLanesBytes = 4 << 20
)

// md5Server makes MD5 hashes that one processor computes in parallel. The zero value is ready for use. Close it when all hashes
// are finished.
type md5Server struct {
	once   sync.Once
	server md5simd.Server
}

// streams returns how many of n chunks to hash in parallel. The sizes are in bytes. lanes reports whether the chunks share the
// lanes of one processor.
func streams(n int, total, largest int64, workers int) (at int, lanes bool) {
	if n < minLanes || total < minLanesBytes || largest*minLanes > total || runtime.GOARCH != "amd64" {
		return min(n, workers), false
	}
	return max(min(n, md5Lanes), min(n, workers)), true
}

// new returns an MD5 hash, either in a lane or separate.
func (s *md5Server) new(lane bool) hash.Hash {
	if !lane {
		return md5.New()
	}
	s.once.Do(func() { s.server = md5simd.NewServer() })
	return s.server.NewHash()
}

// release frees the lane of a hash, if the hash has one.
func release(h hash.Hash) {
	if c, ok := h.(md5simd.Hasher); ok {
		c.Close()
	}
}

func (s *md5Server) close() {
	if s.server != nil {
		s.server.Close()
	}
}
