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

// Bounds of BlockSize of a Fast file, in bytes.
const (
	minBlockSize = 512
	maxBlockSize = 1 << 20
)

// fastMark begins the checksum field of a Fast file.
const fastMark = "blobio-xxh3-128 b="

// fastVersion ends it.
const fastVersion = " v01"

// laterFast matches the marks that later versions may have in its place.
var laterFast = regexp.MustCompile(`^ v[0-9]{2}$`)

// fastChecksum is the checksum field of a Fast file: 32 characters.
func fastChecksum(blockSize int) string { return fmt.Sprintf(fastMark+"%010d"+fastVersion, blockSize) }

// parseFast returns the block size that a checksum field names.
// ok is false if it is not the field of a Fast file.
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

// fastBlock is the digest of one block of a Fast file.
func fastBlock(b []byte) digest { return xxh3.Hash128(b).Bytes() }

// fastChunk is the hash of a chunk of a Fast file: of the digests of its blocks,
// one after the other.
func fastChunk(digests []byte) digest { return xxh3.Hash128(digests).Bytes() }

// hashFB is myHash of the serialised file block of an MD5 file: the fields have another
// order than in the file, and ckptId is not covered (FTIFF_GetHashMetaInfo).
func hashFB(l Layout, b []byte) digest {
	t := &l.table().fb
	h := md5.New()
	h.Write(b[:checksumLen])
	for _, s := range []span{t.timestamp, t.ckptSize, t.metaSize, t.dataSize, t.fs, t.ptFs, t.maxFs} {
		h.Write(s.bytes(b))
	}
	return digest(h.Sum(nil))
}

// hashMeta is MyHash of a Fast file: of all bytes from DataSize to the end
// of the file, MyHash itself and the pad taken as 0. It does not change meta.
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

// computeHash is MyHash of an MD5 file of layout l, from the other fields of fb.
func (fb *FileBlock) computeHash(l Layout) digest {
	b := make([]byte, l.fbSize())
	fb.encode(l, b) // Encode refuses values that do not fit
	return hashFB(l, b)
}

// readerChecksum is the checksum by which FTI accepts a file of C0 to F: MD5
// of the hashes of all containers with content, in the order of the file.
func readerChecksum(blocks []Block) string { return checksumOf(blocks, false) }

// writerChecksum is the checksum that FTI writes to a file of C0 to F: MD5
// of the hash fields of all containers. Empty containers have stale ones, so
// from v1.3 on FTI refuses its own files if they have empty containers.
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

// seal sets the checksum field and, over it and everything else, MyHash.
// The checksum follows the layout's rule, or is fastChecksum in a Fast file.
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

// MetaSum is XXH3-128 of all metadata bytes, in the order of the file. It is
// different for every state of a file (the timestamp is among the bytes).
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

// md5Of is MD5 of n bytes of r from off on. If there are less, the error is io.ErrUnexpectedEOF.
func md5Of(ctx context.Context, r io.ReaderAt, off, n int64) (sum digest, err error) {
	h := md5.New()
	k, err := io.Copy(h, &ctxReader{ctx, io.NewSectionReader(r, off, n)})
	if err == nil && k < n {
		err = io.ErrUnexpectedEOF
	}
	return digest(h.Sum(nil)), err
}

// ctxReader ends with its context.
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
	// md5Lanes is how many chunks are hashed at once by one processor, in the lanes of
	// its vector registers.
	md5Lanes = 16
	// minLanes is from how many chunks on that is faster than one after the other: MD5 of
	// one chunk is slower in a lane.
	minLanes      = 3
	minLanesBytes = 4 << 20
)

// md5Server makes MD5 hashes that are computed together. The zero value is ready;
// close it when all hashes are done with.
type md5Server struct {
	once   sync.Once
	server md5simd.Server
}

// streams is how many of n chunks with these sizes in bytes are best hashed at once on
// several workers; lanes says that they go to the lanes of one processor.
func streams(n int, total, largest int64, workers int) (at int, lanes bool) {
	if n < minLanes || total < minLanesBytes || largest*minLanes > total || runtime.GOARCH != "amd64" {
		return min(n, workers), false
	}
	return max(min(n, md5Lanes), min(n, workers)), true
}

// new returns a hash, in a lane or by itself.
func (s *md5Server) new(lane bool) hash.Hash {
	if !lane {
		return md5.New()
	}
	s.once.Do(func() { s.server = md5simd.NewServer() })
	return s.server.NewHash()
}

// release gives the lane of a hash free.
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
