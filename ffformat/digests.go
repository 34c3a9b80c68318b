package ffformat

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"blobio/internal/base/fault"
)

// digestLen is the size in bytes of a block's digest (XXH3-128).
const digestLen = 16

// Digests are the block digests (XXH3-128) of one file. With them a differential update does not need to read the file, and a
// reader verifies the file at memory speed. At the default block size, the digests need a thousandth of the space of the data.
//
// Digests are immutable.
type Digests struct {
	CkptID    int32
	Timestamp int64
	MetaSum   [16]byte // metadata sum of the file (File.MetaSum)
	Hash      Hash     // kind of the chunk hashes in the file's records
	BlockSize int

	chunks []chunkDigests // by container, in file order
	at     map[[2]int32]int
}

type chunkDigests struct {
	id, n  int32  // id of the variable, and number of its container
	size   int64  // size of the chunk; 0 if its digests are unknown
	hash   digest // hash of the chunk, from the record
	blocks []byte // digests of the blocks
}

// chunk returns the digests of a container's chunk, if they are known.
func (d *Digests) chunk(c *Container) chunkDigests {
	if d == nil {
		return chunkDigests{}
	}
	if i, ok := d.at[[2]int32{c.ID, c.ContainerID}]; ok {
		return d.chunks[i]
	}
	return chunkDigests{}
}

// index fills d.at and returns d.
func (d *Digests) index() *Digests {
	d.at = make(map[[2]int32]int, len(d.chunks))
	for i := range d.chunks {
		d.at[[2]int32{d.chunks[i].id, d.chunks[i].n}] = i
	}
	return d
}

// Match returns an error of class ErrChecksum unless d has the digests of the file f.
func (d *Digests) Match(f *File) error {
	sum, err := f.MetaSum()
	if err != nil {
		return err
	}
	if sum != d.MetaSum {
		return fault.At(f.Name, -1, "digests", ErrChecksum, "belong to metadata %x, the file has %x", d.MetaSum, sum)
	}
	if d.Hash != f.Hash {
		return fault.At(f.Name, -1, "digests", ErrCorrupt, "with chunk hashes of kind %d, the file has kind %d", d.Hash, f.Hash)
	}
	n := 0
	for p := range f.all() {
		if n >= len(d.chunks) || p.HasContent && (d.chunks[n].size != p.ChunkSize || d.chunks[n].id != p.ID || d.chunks[n].n != p.ContainerID) {
			return fault.At(f.Name, p.offset, p.field()+": digests", ErrCorrupt, "digests of another chunk")
		}
		n++
	}
	if n != len(d.chunks) {
		return fault.At(f.Name, -1, "digests", ErrCorrupt, "of %d containers, the file has %d", len(d.chunks), n)
	}
	return nil
}

// Serialised digests, integers little-endian:
//
//	0   8  "BLOBIOFD"
//	8   4  version 1
//	12  1  hash of the blocks: 0, XXH3-128
//	13  1  Hash
//	14  2  zeros
//	16  4  BlockSize
//	20  4  CkptID
//	24  8  Timestamp
//	32  16 MetaSum
//	48  8  number of containers
//	then for each container: variable (4), number (4), size (8), hash (16), and ceil(size/BlockSize) digests
//	last 4 CRC-32 (IEEE) of all bytes before
const (
	digestsMagic  = "BLOBIOFD"
	digestsHeader = 56
	digestsRecord = 32
)

// Marshal returns the serialised digests.
func (d *Digests) Marshal() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(digestsMagic), 1)
	b = append(b, 0, byte(d.Hash), 0, 0)
	b = le.AppendUint32(b, uint32(d.BlockSize))
	b = le.AppendUint32(b, uint32(d.CkptID))
	b = le.AppendUint64(b, uint64(d.Timestamp))
	b = append(b, d.MetaSum[:]...)
	b = le.AppendUint64(b, uint64(len(d.chunks)))
	for i := range d.chunks {
		c := &d.chunks[i]
		b = le.AppendUint32(b, uint32(c.id))
		b = le.AppendUint32(b, uint32(c.n))
		b = le.AppendUint64(b, uint64(c.size))
		b = append(b, c.hash[:]...)
		b = append(b, c.blocks...)
	}
	return le.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// UnmarshalDigests reads the output of Marshal. b must contain nothing else. Errors are of type FormatError and have name as the
// file name. The digests refer to the memory of b.
func UnmarshalDigests(b []byte, name string) (*Digests, error) {
	bad := func(off int64, field string, class error, format string, args ...any) error {
		return fault.At(name, off, "digests: "+field, class, format, args...)
	}
	le := binary.LittleEndian
	if len(b) < digestsHeader+4 {
		return nil, bad(int64(len(b)), "header", ErrTruncated, "%d bytes, want at least %d", len(b), digestsHeader+4)
	}
	if string(b[:8]) != digestsMagic {
		return nil, bad(0, "magic", ErrNotFormat, "%q, want %q", b[:8], digestsMagic)
	}
	if v := le.Uint32(b[8:]); v != 1 {
		return nil, bad(8, "version", fault.ErrVersion, "%d, want 1", v)
	}
	body := b[:len(b)-4]
	if got, want := crc32.ChecksumIEEE(body), le.Uint32(b[len(body):]); got != want {
		return nil, bad(int64(len(body)), "CRC-32", ErrChecksum, "%08x, want %08x", want, got)
	}
	d := &Digests{
		Hash: Hash(b[13]), BlockSize: int(int32(le.Uint32(b[16:]))), CkptID: int32(le.Uint32(b[20:])),
		Timestamp: int64(le.Uint64(b[24:])), MetaSum: digest(b[32:48]),
	}
	if b[12] != 0 {
		return nil, bad(12, "hash", ErrUnsupported, "%d, want 0", b[12])
	}
	if d.Hash > Fast {
		return nil, bad(13, "hash of chunks", ErrUnsupported, "%d, want %d or %d", b[13], MD5, Fast)
	}
	if d.BlockSize < minBlockSize || d.BlockSize > maxBlockSize {
		return nil, bad(16, "block size", ErrCorrupt, "%d, want %d to %d", d.BlockSize, minBlockSize, maxBlockSize)
	}
	n := le.Uint64(b[48:])
	at := body[digestsHeader:]
	if n > uint64(len(at)/digestsRecord) {
		return nil, bad(48, "containers", ErrCorrupt, "%d containers do not fit in %d bytes", n, len(at))
	}
	d.chunks = make([]chunkDigests, n)
	for i := range d.chunks {
		off := int64(len(body) - len(at))
		if len(at) < digestsRecord {
			return nil, bad(off, "container", ErrTruncated, "%d bytes left, want %d", len(at), digestsRecord)
		}
		id, number := int32(le.Uint32(at)), int32(le.Uint32(at[4:]))
		size := int64(le.Uint64(at[8:]))
		if size < 0 || size > math.MaxInt64-maxBlockSize {
			return nil, bad(off+8, "size", ErrCorrupt, "%d, want 0 to about 2^63", size)
		}
		hash := digest(at[16:32])
		at = at[digestsRecord:]
		blocks := (size + int64(d.BlockSize) - 1) / int64(d.BlockSize)
		if blocks > int64(len(at))/digestLen {
			return nil, bad(off+8, "size", ErrCorrupt, "%d bytes have %d blocks, but only %d bytes of digests are left", size, blocks, len(at))
		}
		k := blocks * digestLen
		d.chunks[i] = chunkDigests{id, number, size, hash, at[:k:k]}
		at = at[k:]
	}
	if len(at) > 0 {
		return nil, bad(int64(len(body)-len(at)), "end", ErrCorrupt, "%d bytes follow the last container", len(at))
	}
	return d.index(), nil
}
