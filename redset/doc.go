// Package redset protects the files of ranks against the loss of some of them, as SCR and
// its library redset do, byte for byte: SINGLE (none), PARTNER (copies), XOR, and RS
// (Reed-Solomon).
//
//	s, err := redset.New(ctx, c, redset.Options{Scheme: redset.XOR, Group: hostname})
//	err = s.Encode(ctx, vfs.OS, files, dir+"/rs.")    // each rank its own files
//	rep, err := redset.Recover(ctx, c, vfs.OS, dir+"/rs.", nil)
//
// New forms the sets; Encode makes the redundancy files; Recover, at any later time and by ranks
// that may have lost everything, rebuilds what is missing or corrupt. Offline does it without
// ranks. Drop removes the redundancy files again.
//
// # Redundancy files (generation C)
//
// w is the world rank; numbers in names count from 1. All trees are key/value records
// of SCR, their keys sorted at each level.
//
//	<prefix>w.redset          <world rank>/DESC/{ENABLED,TYPE,GROUP,...}: of the member and its left neighbours
//	<prefix>w.<scheme>.grp_<set>_of_<sets>.mem_<member>_of_<members>.redset
//	                          +--------------------+-------------------------------------+
//	                          | header: one record | payload: XOR, RS parity; copies     |
//	                          +--------------------+-------------------------------------+
//	<prefix>w.redsum          checksums: ours, ignored by others
//
// The header holds RANK (in the set), CHUNK (bytes; XOR, RS), GROUP/{RANKS, RANK/<member>/<world rank>}
// (XOR, RS), and for the member and its left neighbours (1 for XOR, REPLICAS, k for RS)
//
//	DESC/<member>/DESC/{ENABLED,TYPE,GROUP,GROUPS,RANK,RANKS,WRANK,WRANKS} + CKSUM (RS) | REPLICAS (PARTNER)
//	DESC/<member>/FILES/<n>
//	DESC/<member>/FILE/<i>/<name>/{SIZE,MODE,UID,GID,{A,C,M}TIME_{SECS,NSECS}}
//
// # Bytes
//
// The logical file of a member is its files one after the other. Of n members:
//
//	PARTNER  payload of m: the logical files of m-1, m-2, ... m-REPLICAS (mod n), exact lengths.
//	XOR, RS  k = 1 or CKSUM. chunk = max(1, ceil(longest logical file / (n-k))); shorter ones are
//	         padded with zeros. Stripe c = 0 ... n-1 has one chunk of each member:
//	         i = (c - m) mod n < k: row i of its parity, at i*chunk of the payload;
//	         otherwise data, the next chunk of the logical file.
//
//	stripe      0    1    2    3          XOR, n = 4; D0 ... D2 are the chunks of each
//	member 0    P    D0   D1   D2
//	member 1    D0   P    D1   D2
//	member 2    D0   D1   P    D2
//	member 3    D0   D1   D2   P
//
// XOR: the chunks of a stripe add up to zero. RS: row i is the sum of M[i][m] * chunk of
// member m over GF(2^8), polynomial 0x11D, where M is the last k rows of the (n+k) x n
// Vandermonde matrix (row r: r^0 ... r^(n-1)) made systematic; members that hold parity of
// the stripe count as zeros.
//
// Generations A and B have XOR only, another name and another header; see docs/format-redset.md.
//
// # What can be trusted
//
// A redundancy file appears under its name when all ranks have written and synced theirs, and
// user files are only ever replaced whole, by rename, after everything that is lost in
// any set was rebuilt, checked and synced. Every byte that is read to rebuild is checked
// first against its CRC-32, if there are checksums; what does not match counts as lost. Without any, data and
// redundancy have to agree as far as there is some to spare, else all ranks get a *DoubtError (RankError of one). Losses
// beyond the scheme change nothing and are a *LostError on all ranks.
//
// Losses count per stripe, not per member: damage in several members is mended as long as no
// stripe lacks more than k chunks (PARTNER: as long as one copy of each file is good).
package redset
