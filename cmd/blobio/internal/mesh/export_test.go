package mesh

const MostOfKind = mostOfKind
