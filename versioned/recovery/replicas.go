package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"blobio/comm"
)

// Metadata (box tables, times, version numbers) are small, and every rank has a replica. A replica is sealed with its own
// checksum, so that a bad replica is found before it is compared or copied.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sealLen = 4

// seal appends the CRC-32C of data, little-endian.
func seal(data []byte) []byte {
	out := make([]byte, 0, len(data)+sealLen)
	out = append(out, data...)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(data, castagnoli))
}

// unseal returns the data of a replica, and whether its checksum is right. The data share memory with replica.
func unseal(replica []byte) (data []byte, ok bool) {
	n := len(replica) - sealLen
	if n < 0 {
		return nil, false
	}
	data = replica[:n:n]
	return data, binary.LittleEndian.Uint32(replica[n:]) == crc32.Checksum(data, castagnoli)
}

// digest returns the digest of a replica, or the zero value if its checksum is wrong.
func digest(replica []byte) (d [sha256.Size]byte) {
	if data, ok := unseal(replica); ok {
		d = sha256.Sum256(data)
		d[0] |= 1 // never all zeros
	}
	return d
}

// majority compares the digests of the replicas of all ranks. good is the lowest rank with the most frequent sound content, or -1
// if there is none or two contents are equally frequent. bad lists all ranks that differ from good, ascending.
func majority(d [][sha256.Size]byte) (good int, bad []int) {
	var none [sha256.Size]byte
	n := map[[sha256.Size]byte]int{}
	for _, x := range d {
		if x != none {
			n[x]++
		}
	}
	good, tie := -1, false
	for i, x := range d {
		switch {
		case x == none:
		case good < 0 || n[x] > n[d[good]]:
			good, tie = i, false
		case n[x] == n[d[good]] && x != d[good]:
			tie = true
		}
	}
	if tie {
		good = -1
	}
	for i, x := range d {
		if good < 0 || x != d[good] {
			bad = append(bad, i)
		}
	}
	return good, bad
}

// repairReplicas is collective: each rank passes its sealed replica and gets a good one. If there is no sound majority, rank 0
// calls version to read the sealed metadata from the newest saved version; version returns nil if nothing is saved.
// repairReplicas returns the ranks that had a bad replica. All ranks get errMetadataLost if no good metadata exist.
func repairReplicas(ctx context.Context, c comm.Comm, mine []byte, version func() ([]byte, error)) (replica []byte, bad []int, err error) {
	d := digest(mine)
	all, err := c.Allgather(ctx, d[:])
	if err != nil {
		return nil, nil, err
	}
	ds := make([][sha256.Size]byte, len(all))
	for i, b := range all {
		copy(ds[i][:], b)
	}
	good, bad := majority(ds)
	if good >= 0 && len(bad) == 0 {
		return mine, nil, nil
	}
	root := max(good, 0)
	var from []byte
	var verr error
	if c.Rank() == root {
		if from = mine; good < 0 {
			from, verr = saved(version)
		}
	}
	if err := comm.Agree(ctx, c, verr); err != nil {
		return nil, bad, err
	}
	if replica, err = c.Bcast(ctx, root, from); err != nil {
		return nil, bad, err
	}
	if c.Rank() == good || good >= 0 && ds[c.Rank()] == ds[good] {
		return mine, bad, nil
	}
	return append([]byte(nil), replica...), bad, nil
}

func saved(version func() ([]byte, error)) ([]byte, error) {
	if version == nil {
		return nil, fmt.Errorf("no sound majority of replicas, and no saved version: %w", errMetadataLost)
	}
	b, err := version()
	if err != nil {
		return nil, fmt.Errorf("no sound majority of replicas, and the saved version cannot be read: %w: %w", err, errMetadataLost)
	}
	if _, ok := unseal(b); !ok {
		return nil, fmt.Errorf("no sound majority of replicas, and the saved version has a wrong checksum: %w", errMetadataLost)
	}
	return b, nil
}
