"""Changes that no test can notice, as the same is computed: by file, text of the line and change, the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "measures/measures.py",
        "close = difflib.get_close_matches(text.lower(), known, n=1, cutoff=0.5)",
        "1  ->  2",
    ): "only the first of them, the nearest, is used",
    (
        "measures/significance.py",
        "_DRAWS = 1 << 20",
        "20  ->  21",
    ): "how many numbers are drawn at once; of fewer than that many all are the same",
    (
        "objective/l1_ball.py",
        "if float(np.sum(np.abs(weights))) < self.radius * (1.0 - 1e-12):",
        "float(np.sum(np.abs(weights))) < self.radius * (1.0 - 1e-12)  ->  "
        "float(np.sum(np.abs(weights))) <= self.radius * (1.0 - 1e-12)",
    ): "the border has the width of rounding: one number of it is no more its end than the next",
    (
        "objective/pair_losses.py",
        "return max(0.0, value) if least - slack <= value <= hinge + slack else min(max(value, least), hinge)",
        "least - slack  ->  least + slack",
    ): "a value that near to the bound is moved to it at most, which is within its rounding",
    (
        "objective/logistic_pairs.py",
        "pairs = _LogisticPairs.of(scores, block, np.empty(0), np.empty(0))",
        "0  ->  1  (2)",
    ): "of pairs that all weigh alike the second table is not read",
    (
        "measures/measure_kernels.py",
        "while i < stop and i - start < cutoff:",
        "i - start < cutoff  ->  i - start <= cutoff",
    ): "at the cutoff the depth of a group is 0, and nothing is added",
    (
        "objective/least_squares.py",
        "mean = total / mass if mass > 0.0 else 0.0",
        "0.0  ->  1.0  (2)",
    ): "where all documents of a query weigh nothing, all that is made of the mean is multiplied by 0",
    (
        "objective/ndcg_weighted.py",
        "return _discounts_of_ranks(1 << math.ceil(heaviest + 2.0).bit_length())",
        "2.0  ->  3.0",
    ): "a table that is longer than need be, by a power of two",
    (
        "objective/ndcg_kernels.py",
        "while rank < stop:",
        "rank < stop  ->  rank <= stop",
    ): "of the rank at which a document's ranks end it has a part of 0",
    (
        "measures/evaluation.py",
        "_RANGE_DOCUMENTS = 1 << 15",
        "1  ->  2",
    ): "how many documents a task takes on; the values are the same",
    (
        "measures/evaluation.py",
        "n_threads = n_threads if executor is None else 1",
        "1  ->  2",
    ): "any number of threads gives the same bits",
    (
        "measures/evaluation.py",
        "for chunk in dataset.chunks(features=False):",
        "False  ->  True",
    ): "features are read too, and nothing is made of them",
    (
        "measures/evaluation.py",
        "list(pool.map(task, *zip(*ranges, strict=True)))",
        "True  ->  False",
    ): "every range has two ends",
    (
        "measures/single_features.py",
        "_TASKS = 32",
        "32  ->  33",
    ): "how many ranges are worked on side by side; the values are the same",
    (
        "measures/single_features.py",
        "value = top[place] if place < n else 0.0",
        "place < n  ->  place <= n",
    ): "behind the last, zeros are left, and 0 is put into its place",
    (
        "objective/list_kernels.py",
        "elif h < 40.0:",
        "h < 40.0  ->  h <= 40.0",
    ): "at 40 both forms are the same number",
    (
        "objective/list_kernels.py",
        "if u > 1.0 and exponent < -45.0:",
        "1.0  ->  2.0",
    ): "below 2 no exponent is that small: it is more than -u",
    (
        "objective/pointwise_losses.py",
        "return SquaredEpsilonInsensitive(-1.0), 1.0",
        "1.0  ->  2.0",
    ): "every negative width has all documents beyond it",
    (
        "objective/pair_losses.py",
        "_FEW = 2",
        "2  ->  3",
    ): "when products leave out documents; the sums are the same",
    (
        "objective/pair_losses.py",
        "if not _FEW * np.count_nonzero(counts) <= len(counts) or not self.pairs.documents.over.structure.leaves_out:",
        "_FEW * np.count_nonzero(counts) <= len(counts)  ->  _FEW * np.count_nonzero(counts) < len(counts)",
    ): "when products leave out documents; the sums are the same",
    (
        "objective/pair_losses.py",
        "return max(0.0, value) if least - slack <= value <= hinge + slack else min(max(value, least), hinge)",
        "least - slack <= value <= hinge + slack  ->  least - slack < value <= hinge + slack",
    ): "the border has the width of rounding: one number of it is no more its end than the next",
    (
        "objective/ndcg_weighted.py",
        "_SUMS_A_LEVEL = 7",
        "7  ->  8",
    ): "a column of room that is not used",
    (
        "objective/ndcg_weighted.py",
        "discounts: Vector = 1.0 / np.log2(2.0 + np.arange(n_ranks))",
        "1.0  ->  2.0",
    ): "discounts are only used divided by the sum of their query's, in which the factor is too",
    (
        "objective/corner_pairs.py",
        "opposite = np.mod(turned + 0.5 * around, around)",
        "0.5  ->  1.5",
    ): "a whole turn further is the same place",
    (
        "objective/pair_losses.py",
        "return max(0.0, value) if least - slack <= value <= hinge + slack else min(max(value, least), hinge)",
        "hinge + slack  ->  hinge - slack",
    ): "a value that near to the bound is moved to it at most, which is within its rounding",
    (
        "objective/pair_losses.py",
        "np.empty((block.most_levels + 1, matrix.shape[1])), products,",
        "1  ->  2",
    ): "a row of room that is not used",
}
