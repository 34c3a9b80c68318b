// Package subfile finds the datasets of package blob by the names of their files, and reads their manifests, without package blob: which
// commit is in force, which files belong to it, how long they are, and their checksums. It writes nothing.
//
//	Find, List          datasets by the names of their files: Set
//	ReadState           which manifest is in force, and whether a writer is at work: State
//	Decode              a manifest from its bytes: Manifest, SetInfo, Subfile
//	Name, Split, Base   names: F_h0.nc.0000 and so on
//
// docs/format-manifest.md has names, states, fields and checksums.
//
// Read first: subfile.go.
package subfile
