package edge

import (
	"math"

	"blobio/ffformat"
	"blobio/ffformat/ffstore"
	"blobio/versioned"
)

// StoreOptions reads the options of a store of checkpoints.
func StoreOptions(s string) (*ffstore.Options, error) {
	f := parse(s)
	o := &ffstore.Options{Keep: 1} // because 0 would select the default
	if f.int("keep", &o.Keep); o.Keep == 0 {
		f.fail("option keep=0, want 1 to 64")
	}
	f.int("workers", &o.Workers)
	block := int64(0)
	f.size("block", &block)
	if block > math.MaxInt32 {
		f.fail("option block=%d, want at most 2^31-1 bytes", block)
	}
	o.BlockSize = int(block)
	one(f, "hash", &o.Hash, "md5 fast", ffformat.MD5, ffformat.Fast)
	one(f, "durability", &o.Durability, "commit none", ffstore.DurableCommit, ffstore.DurableNone)
	return o, f.end()
}

// ArrayOptions describe a versioned array, and how it is opened.
type ArrayOptions struct {
	versioned.Spec
	versioned.Options
	Copies int
}

// Set reads the options of create and open. Only create uses the description of
// the array.
func (o *ArrayOptions) Set(s string) error {
	f := parse(s)
	f.int("keep", &o.Keep.Last)
	f.int64("every", &o.Keep.Every)
	chunk := int64(0)
	f.size("chunk", &chunk)
	if chunk > math.MaxInt32 {
		f.fail("option chunk=%d, want at most 2^31-1 bytes", chunk)
	}
	o.Chunk = int(chunk)
	f.int("copies", &o.Copies)
	f.yes("compress", &o.Compress)
	one(f, "durability", &o.Durability, "commit none", versioned.DurableCommit, versioned.DurableNone)
	return f.end()
}
