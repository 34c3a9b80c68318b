package blob

import (
	"fmt"
	"slices"
	"strings"

	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

// Method says how the data of process-centric files are compressed.
type Method uint8

const (
	// NoCompression writes the files that every reader of the layout knows.
	NoCompression Method = iota
	// AutoCompression chooses for each variable, and each list of the maps, between no compression,
	// Zstd and ShuffleZstd, and the level, by compressing samples of it.
	AutoCompression
	// Zstd compresses with zstd.
	Zstd
	// ShuffleZstd brings the bytes of numbers into planes first: all first bytes, all second ones, and
	// so on. It is usually better for fields of floating-point numbers, and worse where many values
	// are equal.
	ShuffleZstd
)

var methodNames = [...]string{"off", "auto", "zstd", "shuffle+zstd"}

// String returns the method's name, as ParseCompress takes it.
func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// Compress says whether and how data are compressed. Only blobio reads compressed files.
// Compression is lossless: what is read is, bit by bit, what was put.
type Compress struct {
	Method Method
	// Level of zstd from 1, the fastest, to 4, the smallest. 0: with AutoCompression 1 or 2, whichever pays
	// by the samples, otherwise 1.
	Level int
}

// String returns the form that ParseCompress takes.
func (c Compress) String() string {
	if c.Level == 0 {
		return c.Method.String()
	}
	return fmt.Sprintf("%v:%d", c.Method, c.Level)
}

// ParseCompress reads "off", "auto", "zstd" or "shuffle+zstd", each but the first also
// with a level from 1 to 4 as in "zstd:2". "shuffle" is short for "shuffle+zstd".
func ParseCompress(s string) (Compress, error) {
	if name, level, _ := strings.Cut(s, ":"); name == "shuffle" {
		s = strings.TrimSuffix(methodNames[ShuffleZstd]+":"+level, ":")
	}
	words := []codec.Word{{Name: methodNames[NoCompression]}}
	for _, n := range methodNames[AutoCompression:] {
		words = append(words, codec.Word{Name: n, Level: codec.MaxLevel})
	}
	name, level, err := codec.Choose(s, words...)
	if err != nil {
		return Compress{}, err
	}
	return Compress{Method: Method(slices.Index(methodNames[:], name)), Level: level}, nil
}

func (c Compress) on() bool { return c.Method != NoCompression }

func (c Compress) validate() error {
	switch {
	case c.Method > ShuffleZstd:
		return fault.Usage("Compress.Method %d is unknown", c.Method)
	case c.Level < 0 || c.Level > codec.MaxLevel:
		return fault.Usage("Compress.Level %d, want 0 to %d", c.Level, codec.MaxLevel)
	case c.Level != 0 && !c.on():
		return fault.Usage("Compress.Level %d without a method", c.Level)
	}
	return nil
}

// fits says whether a layout can be compressed.
func (c Compress) fits(l Layout) error {
	if c.on() && l.scheme(true) == nil {
		return fault.Usage("compression %v of the %v layout: CDF-5 has no compressed data, only process-centric files can be compressed", c, l)
	}
	return nil
}

// manifestCodec is the manifest's word for compressed subfiles. Readers that do not know it must refuse the dataset.
const manifestCodec = "blobio-zstd-1"
