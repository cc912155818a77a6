// A worker that loads this draws its back-offs, which are at random up to a limit, from the lowest percent, as `shortenBackOffs`.
const random = Math.random.bind(Math);
Math.random = () => random() / 100;
