"""Lee and Lin: large-scale linear RankSVM."""

from __future__ import annotations

from dataclasses import replace

from linrank.papers.published.transcription import PublishedResult, transcribed

PROTOCOL = """\
LETOR 4.0, MSLR-WEB30K and the two sets of Yahoo's challenge: the first fold alone (Yahoo has no folds), trained on the
training part, with C of 2^-15 ... 2^10 chosen on the validation part for each measure by itself; the test part is
reported, so one model's quality and not a mean. The two halves of Table 5 are such models, with C chosen by NDCG and by
pairwise accuracy. Features of MSLR and Yahoo are scaled to 0 ... 1; LETOR's are as they come.
RankSVM is the squared hinge, by TRON until the gradient is 1e-3 of the first; ranksvm-hinge is TreeRankSVM; svr is
LIBLINEAR's squared loss and svr-absolute its L1 loss, with epsilon 0 and blind to queries. Forests and boosted trees
are not tuned, and used eight cores. All on a Xeon E5504 at 2.5 GHz with 16 GB.
NDCG follows the source of the data, with gain 2^y - 1: for LETOR and MSLR the mean over all cut-offs with discount
1/log2(max(2, rank)), mean_ndcg here; for Yahoo NDCG@10, cut at the length of the list, with 1/log2(1 + rank). LETOR's
queries without a relevant document count as 0: with the same C on MQ2008 ours has 0.458 so and 0.680 without them, and
Table 5 has 0.4571. MQ2007-list and MQ2008-list have no NDCG, as 2^y overflows. The discount in Table 9, whose data are
one query each with rates as labels and C = 1, is not said.
Pairwise accuracy is the share of all queries' pairs together. Their formula counts tied scores as wrong, and so does
ours; their program, and so probably their figures, as right: pairwise_accuracy(ties=right). Linear models have the
same five digits by both rules on MQ2008; 40 trees of a forest have 0.8255 and 0.8256, 100 boosted ones 0.8265, 0.8273.
Ours differs in the machine, in a default solver that goes nearer to the minimum, and in using all five folds."""

# The definition each source of data recommends, which the paper follows.
_NDCG = {"Yahoo-LTRC1": "ndcg@10", "Yahoo-LTRC2": "ndcg@10"}
_WITHOUT_FOLDS = ("Yahoo-LTRC1", "Yahoo-LTRC2", "CTR", "CTR-0.1%", "KDD2012b", "KDD2012b-0.025%")


def _table(table: str, text: str, *, across: str = "method:measure", **common: str) -> tuple[PublishedResult, ...]:
    """A table of this paper, with NDCG by the data's own definition and a note of the fold."""
    return tuple(
        replace(
            result,
            measure=_NDCG.get(result.data, "mean_ndcg") if result.measure == "ndcg" else result.measure,
            note=", ".join(filter(None, ["" if result.data in _WITHOUT_FOLDS else "fold 1", result.note])),
        )
        for result in transcribed(text, paper="ranksvm", table=table, across=across, **common)
    )


TABLE_3 = (
    *_table(
        "Table 3",
        """
        data         ranksvm-hinge  ranksvm
        MQ2007       2^-1           2^-5
        MQ2008       2^8            2^7
        MSLR-WEB30K  -              2^3
        Yahoo-LTRC1  -              2^-14
        Yahoo-LTRC2  2^-7           2^-10
        MQ2007-list  2^5            2^-12
        MQ2008-list  2^-14          2^-14
        """,
        across="method",
        measure="C",
        note="chosen by pairwise accuracy",
    ),
    *_table(
        "Table 3",
        """
        data         ranksvm-hinge  ranksvm
        MQ2007       2^8            2^-15
        MQ2008       2^-6           2^7
        MSLR-WEB30K  -              2^3
        Yahoo-LTRC1  -              2^1
        Yahoo-LTRC2  2^-4           2^-10
        """,
        across="method",
        measure="C",
        note="chosen by NDCG",
    ),
)

TABLE_4 = (
    *_table(
        "Table 4",
        """
        data         svr-absolute  svr
        MQ2007       2^8           2^-7
        MQ2008       2^8           2^-1
        MSLR-WEB30K  2^-1          2^-2
        Yahoo-LTRC1  2^-10         2^-5
        Yahoo-LTRC2  2^-3          2^-5
        MQ2007-list  2^-9          2^-15
        MQ2008-list  2^4           2^-7
        """,
        across="method",
        measure="C",
        note="chosen by pairwise accuracy",
    ),
    *_table(
        "Table 4",
        """
        data         svr-absolute  svr
        MQ2007       2^8           2^-11
        MQ2008       2^8           2^-4
        MSLR-WEB30K  2^2           2^-2
        Yahoo-LTRC1  2^-5          2^-2
        Yahoo-LTRC2  2^1           2^4
        """,
        across="method",
        measure="C",
        note="chosen by NDCG",
    ),
)

TABLE_5 = (
    *_table(
        "Table 5",
        """
        data         ranksvm:seconds  ranksvm:ndcg  svr-absolute:seconds  svr-absolute:ndcg  svr:seconds  svr:ndcg
        MQ2007       0.5              0.5211        23.9*                 0.4756*            0.5          0.5157
        MQ2008       0.5              0.4571        3.4*                  0.4153*            0.2          0.4450
        MSLR-WEB30K  1,601.6          0.4945        461.6                 0.4742             202.4        0.4946
        Yahoo-LTRC1  334.8            0.7616        10.8                  0.7579             172.7        0.7642
        Yahoo-LTRC2  11.2             0.7519        47.6                  0.7470             20.8         0.7578
        """,
        note="C chosen by NDCG",
        starred="stopped at the iteration limit",
    ),
    *_table(
        "Table 5",
        """
        data         ranksvm:seconds            svr-absolute:seconds            svr:seconds
        MQ2007       1.3                        23.9*                           0.7
        MQ2008       0.5                        3.4*                            0.3
        MSLR-WEB30K  1,601.6                    65.4                            202.4
        Yahoo-LTRC1  117.1                      2.4                             149.5
        Yahoo-LTRC2  11.2                       3.3                             14.5
        MQ2007-list  38.7                       1.0                             5.0
        MQ2008-list  16.6                       1.1                             6.7
        """,
        note="C chosen by pairwise accuracy",
        starred="stopped at the iteration limit",
    ),
    *_table(
        "Table 5",
        """
        data         ranksvm:pairwise_accuracy  svr-absolute:pairwise_accuracy  svr:pairwise_accuracy
        MQ2007       70.36%                     64.06%*                         68.56%
        MQ2008       82.70%                     77.72%*                         82.17%
        MSLR-WEB30K  61.52%                     60.11%                          60.49%
        Yahoo-LTRC1  68.45%                     67.82%                          67.83%
        Yahoo-LTRC2  69.74%                     68.37%                          69.39%
        MQ2007-list  80.71%                     79.82%                          79.70%
        MQ2008-list  82.11%                     81.65%                          81.85%
        """,
        note="C chosen by pairwise accuracy",
        starred="stopped at the iteration limit",
    ),
)

TABLE_6 = (
    *_table(
        "Table 6",
        """
        data         random-forest:seconds  random-forest:pairwise_accuracy  random-forest:ndcg
        MQ2007       14.8                   66.16%                           0.4959
        MQ2008       2.3                    80.36%                           0.4541
        MSLR-WEB30K  5,102.1                63.76%                           0.5598
        Yahoo-LTRC1  1,672.2                70.69%                           0.7797
        Yahoo-LTRC2  58.7                   68.76%                           0.7629
        MQ2007-list  606.0                  78.78%                           -
        MQ2008-list  423.3                  82.04%                           -
        """,
        note="40 trees",
    ),
    *_table(
        "Table 6",
        """
        data         gbt:seconds  gbt:pairwise_accuracy  gbt:ndcg
        MQ2007       1.4          69.78%                 0.5182
        MQ2008       0.4          82.83%                 0.4706
        MSLR-WEB30K  1,339.3      62.77%                 0.5375
        Yahoo-LTRC1  557.7        69.22%                 0.7707
        Yahoo-LTRC2  11.3         71.21%                 0.7711
        MQ2007-list  106.8        79.85%                 -
        MQ2008-list  59.3         82.43%                 -
        """,
        note="100 trees",
    ),
)

TABLE_7 = (
    *_table(
        "Table 7",
        """
        data         random-forest:seconds  random-forest:pairwise_accuracy  random-forest:ndcg
        MQ2007       345.3                  69.07%                           0.5221
        MQ2008       52.0                   82.60%                           0.4675
        Yahoo-LTRC2  1,406.9                71.91%                           0.7801
        """,
        note="1,000 trees",
    ),
    *_table(
        "Table 7",
        """
        data         gbt:seconds  gbt:pairwise_accuracy  gbt:ndcg
        MQ2007       13.7         67.58%                 0.4892
        MQ2008       3.6          79.78%                 0.4491
        Yahoo-LTRC2  108.7        71.70%                 0.7720
        """,
        note="1,000 trees",
    ),
)

TABLE_9 = (
    *_table(
        "Table 9",
        """
        data             ranksvm:seconds  ranksvm:pairwise_accuracy  ranksvm:ndcg
        CTR-0.1%         4.3              60.83%                     0.4822
        KDD2012b-0.025%  2.7              68.16%                     0.5851
        """,
        note="C=1",
    ),
    *_table(
        "Table 9",
        """
        data             random-forest:seconds  random-forest:pairwise_accuracy  random-forest:ndcg
        CTR-0.1%         6,343.3                60.45%                           0.4732
        KDD2012b-0.025%  5,223.1                69.72%                           0.5982
        """,
        note="40 trees",
    ),
)

TABLE_10 = (
    *_table(
        "Table 10",
        """
        method            C      seconds  pairwise_accuracy
        ranksvm-adjacent  2^-9   19.9     79.10%
        ranksvm           2^-12  38.7     80.71%
        """,
        data="MQ2007-list",
        across="measure",
    ),
    *_table(
        "Table 10",
        """
        method            C      seconds  pairwise_accuracy
        ranksvm-adjacent  2^-10  10.5     81.81%
        ranksvm           2^-14  16.6     82.11%
        """,
        data="MQ2008-list",
        across="measure",
    ),
)

RESULTS = (*TABLE_3, *TABLE_4, *TABLE_5, *TABLE_6, *TABLE_7, *TABLE_9, *TABLE_10)

TABLE_2 = _table(
    "Table 2",
    """
    data         n_documents  n_features  n_levels  n_queries  n_pairs      levels_per_document
    MQ2007       42,158       46          3         1,017      246,015      0.0546
    MQ2008       9,630        46          3         471        52,325       0.1697
    MSLR-WEB30K  2,270,296    136         5         18,919     101,312,036  0.0492
    Yahoo-LTRC1  473,134      519         5         19,944     5,178,545    0.2228
    Yahoo-LTRC2  34,815       596         5         1,266      292,951      0.1560
    MQ2007-list  743,790      46          1,268     1,017      285,943,893  1
    MQ2008-list  540,679      46          1,831     471        323,151,792  1
    """,
    across="measure",
    method="",
    note="training part",
)

TABLE_8 = _table(
    "Table 8",
    """
    data             n_documents  n_features  n_nonzero  n_levels  n_pairs
    CTR              11,382,195   22,510,600  22.6       93,899    46,191,724,381,879
    KDD2012b         68,019,906   79,901,700  35.3       6,896     198,474,800,029,148
    CTR-0.1%         11,382       73,581      22.6       1,087     46,020,848
    KDD2012b-0.025%  17,005       74,026      35.3       26        12,704,393
    """,
    across="measure",
    method="",
    note="training part",
)

STATISTICS = (*TABLE_2, *TABLE_8)
