"""The commands of LaTeX: what each shows, and what it is called in English and in Chinese.

A row is ``names | shown | English | Chinese``. A command that is in no table is not LaTeX to
:mod:`vixio.language.text.formulas`, so a path or a regular expression with backslashes stays as it
is.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Words(NamedTuple):
    """One sign in three forms."""

    shown: str
    english: str
    chinese: str


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(rows: str) -> dict[str, Words]:
    found: dict[str, Words] = {}
    for line in rows.strip().splitlines():
        names, shown, english, chinese = (part.strip() for part in line.split("|"))
        found |= dict.fromkeys(names.split(), Words(shown, english, chinese))
    return found


OPERATORS: Final = _table(
    r"""
    + | + | plus | 加
    - − | - | minus | 减
    * ∗ ast | × | times | 乘
    times × | × | times | 乘
    cdot bullet · | · | times | 乘
    div ÷ | ÷ | divided by | 除以
    / | / | divided by | 除以
    pm ± | ± | plus or minus | 正负
    mp ∓ | ∓ | minus or plus | 负正
    = | = | equals | 等于
    != ne neq ≠ | ≠ | is not equal to | 不等于
    < lt | < | is less than | 小于
    > gt | > | is greater than | 大于
    le leq leqslant ≤ | ≤ | is less than or equal to | 小于等于
    ge geq geqslant ≥ | ≥ | is greater than or equal to | 大于等于
    ll | ≪ | is much less than | 远小于
    gg | ≫ | is much greater than | 远大于
    approx ≈ | ≈ | is approximately equal to | 约等于
    sim simeq | ~ | is similar to | 相似于
    cong | ≅ | is congruent to | 全等于
    equiv ≡ | ≡ | is equivalent to | 恒等于
    propto | ∝ | is proportional to | 正比于
    to rightarrow longrightarrow → | → | to | 趋于
    mapsto | → | maps to | 映射到
    leftarrow | ← | from | 来自
    Rightarrow implies Longrightarrow ⇒ | ⇒ | implies | 推出
    iff Leftrightarrow leftrightarrow ⇔ | ⇔ | if and only if | 等价于
    rightleftharpoons | ⇌ | is in equilibrium with | 可逆生成
    in ∈ | ∈ | is in | 属于
    notin | ∉ | is not in | 不属于
    subset subseteq | ⊂ | is a subset of | 包含于
    supset supseteq | ⊃ | contains | 包含
    cup ∪ | ∪ | union | 并
    cap ∩ | ∩ | intersected with | 交
    setminus | \ | without | 减去
    parallel | ∥ | is parallel to | 平行于
    perp | ⊥ | is perpendicular to | 垂直于
    mid | : | such that | 满足
    land wedge | ∧ | and | 且
    lor vee | ∨ | or | 或
    bmod mod | mod | modulo | 模
    """
)
"""Signs between two terms; shown with spaces around them."""

SYMBOLS: Final = _table(
    r"""
    infty ∞ | ∞ | infinity | 无穷大
    circ degree ° | ° | degrees | 度
    % | % | percent | %
    angle | ∠ | angle | 角
    triangle | △ | triangle | 三角形
    therefore | ∴ | therefore | 所以
    because | ∵ | because | 因为
    forall | ∀ | for all | 对所有
    exists | ∃ | there exists | 存在
    neg lnot | ¬ | not | 非
    emptyset varnothing | ∅ | the empty set | 空集
    partial | ∂ | partial | 偏
    nabla | ∇ | nabla | 梯度
    ldots dots cdots vdots ddots | … | and so on | 等等
    prime | ' | prime | 撇
    ell | l | l | l
    hbar | ħ | h bar | 约化普朗克常数
    checkmark | ✓ | |
    $ | $ | $ | $
    & | & | and | 和
    # | # | number | 号
    { | { | |
    } | } | |
    _ | _ | |
    lbrace | { | |
    rbrace | } | |
    langle | ⟨ | |
    rangle | ⟩ | |
    lfloor rfloor lceil rceil vert lvert rvert | ¦ | |
    alpha | α | alpha | 阿尔法
    beta | β | beta | 贝塔
    gamma | γ | gamma | 伽马
    Gamma | Γ | capital gamma | 大写伽马
    delta | δ | delta | 德尔塔
    Delta | Δ | delta | 德尔塔
    epsilon varepsilon | ε | epsilon | 艾普西隆
    zeta | ζ | zeta | 泽塔
    eta | η | eta | 伊塔
    theta vartheta Theta | θ | theta | 西塔
    iota | ι | iota | 约塔
    kappa | κ | kappa | 卡帕
    lambda Lambda | λ | lambda | 兰姆达
    mu | μ | mu | 缪
    nu | ν | nu | 纽
    xi Xi | ξ | xi | 克西
    pi varpi π | π | pi | 派
    Pi | Π | capital pi | 大写派
    rho varrho | ρ | rho | 柔
    sigma varsigma | σ | sigma | 西格玛
    Sigma | Σ | sigma | 西格玛
    tau | τ | tau | 陶
    upsilon | υ | upsilon | 宇普西隆
    phi varphi Phi | φ | phi | 斐
    chi | χ | chi | 希
    psi Psi | ψ | psi | 普西
    omega | ω | omega | 欧米伽
    Omega | Ω | omega | 欧米伽
    """
)
"""Signs that stand for themselves."""

FUNCTIONS: Final = _table(
    """
    sin | sin | sine | 正弦
    cos | cos | cosine | 余弦
    tan | tan | tangent | 正切
    cot | cot | cotangent | 余切
    sec | sec | secant | 正割
    csc | csc | cosecant | 余割
    arcsin | arcsin | arc sine | 反正弦
    arccos | arccos | arc cosine | 反余弦
    arctan | arctan | arc tangent | 反正切
    sinh | sinh | hyperbolic sine | 双曲正弦
    cosh | cosh | hyperbolic cosine | 双曲余弦
    tanh | tanh | hyperbolic tangent | 双曲正切
    log | log | log | 对数
    lg | lg | log | 常用对数
    ln | ln | natural log | 自然对数
    exp | exp | e to the power of | e的指数
    max | max | the maximum of | 最大值
    min | min | the minimum of | 最小值
    gcd | gcd | the greatest common divisor of | 最大公约数
    lcm | lcm | the least common multiple of | 最小公倍数
    det | det | the determinant of | 行列式
    dim | dim | the dimension of | 维数
    """
)

LARGE: Final = _table(
    """
    int ∫ | ∫ | integral | 积分
    iint | ∬ | double integral | 二重积分
    oint | ∮ | contour integral | 环路积分
    sum ∑ | ∑ | sum | 求和
    prod ∏ | ∏ | product | 连乘
    lim | lim | limit | 极限
    """
)
"""Operators with limits: ``_lower`` and ``^upper`` belong to them."""

UNITS: Final = _table(
    """
    mm | mm | millimeter | 毫米
    cm | cm | centimeter | 厘米
    dm | dm | decimeter | 分米
    m | m | meter | 米
    km | km | kilometer | 千米
    mg | mg | milligram | 毫克
    g | g | gram | 克
    kg | kg | kilogram | 千克
    t | t | ton | 吨
    ml mL | mL | milliliter | 毫升
    l L | L | liter | 升
    s | s | second | 秒
    min | min | minute | 分钟
    h | h | hour | 小时
    N | N | newton | 牛
    J | J | joule | 焦
    W | W | watt | 瓦
    kW | kW | kilowatt | 千瓦
    V | V | volt | 伏
    A | A | ampere | 安
    Pa | Pa | pascal | 帕
    mol | mol | mole | 摩尔
    """
)
"""Units after a number: in the singular in English."""

WITHOUT_PLURAL: Final = _table(
    """
    Hz | Hz | hertz | 赫兹
    m/s | m/s | meters per second | 米每秒
    km/h | km/h | kilometers per hour | 千米每小时
    m/s² | m/s² | meters per second squared | 米每二次方秒
    g/mol | g/mol | grams per mole | 克每摩尔
    °C | °C | degrees Celsius | 摄氏度
    °F | °F | degrees Fahrenheit | 华氏度
    """
)

ACCENTS: Final = _table(
    """
    vec overrightarrow | | vector | 向量
    hat widehat | | |
    bar overline | | |
    tilde widetilde dot ddot | | |
    underline underbrace overbrace cancel | | |
    boxed fbox | | |
    mathbf boldsymbol bm mathcal mathbb mathit mathsf mathfrak | | |
    phantom | | |
    """
)
"""Commands around one argument, and the word that stands before it."""

TEXTS: Final = _names(
    "text textbf textit textrm textsf texttt mathrm mbox operatorname unit mathop"
)
"""Commands whose argument is written as it is."""

FRACTIONS: Final = _names("frac dfrac tfrac cfrac")
BINOMIALS: Final = _names("binom dbinom tbinom")
CHEMISTRY: Final = frozenset({"ce"})
COLORS: Final = frozenset({"color", "textcolor"})
DELIMITERS: Final = _names(
    "left right big Big bigl bigr Bigl Bigr bigg Bigg middle displaystyle textstyle limits "
    "nolimits nonumber notag hfill not"
)
"""Commands that show nothing themselves."""
SPACES: Final = _names("quad qquad enspace thinspace , ; : ! ~") | {" "}
MATRICES: Final = _names("matrix pmatrix bmatrix Bmatrix smallmatrix array")
DETERMINANTS: Final = frozenset({"vmatrix", "Vmatrix"})
ENVIRONMENTS: Final = (
    MATRICES
    | DETERMINANTS
    | _names("aligned align align* alignat split gathered gather gather* multline")
    | _names("equation equation* cases eqnarray eqnarray* displaymath math")
)

ARGUMENTS: Final[dict[str, int]] = {
    **dict.fromkeys(FRACTIONS | BINOMIALS, 2),
    **dict.fromkeys([*ACCENTS, *TEXTS, *CHEMISTRY, "sqrt"], 1),
    "textcolor": 2,
    "color": 1,
}
"""How many arguments in braces a command has; none where it is not listed."""

COMMANDS: Final = frozenset(
    name
    for name in (
        *OPERATORS,
        *SYMBOLS,
        *FUNCTIONS,
        *LARGE,
        *ARGUMENTS,
        *DELIMITERS,
        *SPACES,
        "begin",
        "end",
    )
    if name.isalpha() and name.isascii()
)
"""All that is known by name."""

PARTS: Final = ("half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
"""The names of 1/2 to 1/10."""
