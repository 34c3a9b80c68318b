package dataset

import (
	"fmt"
	"slices"
	"strings"

	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

// Method is the compression of data in process-centric files.
type Method uint8

const (
	// NoCompression writes files that every reader of the layout can read.
	NoCompression Method = iota
	// AutoCompression compresses samples. For each variable, and for each list of the maps, it then chooses no compression, Zstd
	// or ShuffleZstd, and the level.
	AutoCompression
	// Zstd compresses with zstd.
	Zstd
	// ShuffleZstd first groups the bytes of numbers by significance: all first bytes, all second bytes, and so on. It is usually
	// better for fields of floating-point numbers, and worse if many values are equal.
	ShuffleZstd
)

var methodNames = [...]string{"off", "auto", "zstd", "shuffle+zstd"}

// String returns the name of the method as ParseCompress accepts it.
func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// Compress is blob.Compress.
type Compress struct {
	Method Method
	// Level of zstd, from 1 (fastest) to 4 (smallest). 0 means 1; with AutoCompression it means 1 or 2, depending on the samples.
	Level int
}

// String returns a text that ParseCompress accepts.
func (c Compress) String() string {
	if c.Level == 0 {
		return c.Method.String()
	}
	return fmt.Sprintf("%v:%d", c.Method, c.Level)
}

// Set implements flag.Value with ParseCompress.
func (c *Compress) Set(s string) (err error) {
	*c, err = ParseCompress(s)
	return err
}

// ParseCompress parses a text such as "zstd:2", which String returns. It also accepts "shuffle" for "shuffle+zstd".
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

func (c Compress) On() bool { return c.Method != NoCompression }

func (c Compress) Validate() error {
	switch {
	case c.Method > ShuffleZstd:
		return fault.Usage("Compress.Method %d is unknown", c.Method)
	case c.Level < 0 || c.Level > codec.MaxLevel:
		return fault.Usage("Compress.Level %d, want 0 to %d", c.Level, codec.MaxLevel)
	case c.Level != 0 && !c.On():
		return fault.Usage("Compress.Level is %d, but Compress.Method is not set", c.Level)
	}
	return nil
}

// Fits returns an error if files of the layout cannot be compressed.
func (c Compress) Fits(l Layout) error {
	if c.On() && l.scheme(true) == nil {
		return fault.Usage("compression %v does not work with the %v layout: only process-centric files can be compressed", c, l)
	}
	return nil
}

// ManifestCodec marks compressed subfiles in the manifest. Readers that do not know this mark must reject the dataset.
const ManifestCodec = "blobio-zstd-1"
