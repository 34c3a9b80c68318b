package ffformat

import (
	"crypto/md5"
	"hash"
	"runtime"
	"sync"

	md5simd "github.com/minio/md5-simd"
)

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
